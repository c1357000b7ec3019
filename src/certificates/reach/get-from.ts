/** One GET at one address, whatever its name resolves to: what came, or why nothing did. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { outcomeOf } from '../served/probe.ts';

const BODY_BYTES_MAX = 4_096;

/** `no_tls`: no handshake for this name. `no_http`: what came is no HTTP. */
type Unanswered = { readonly outcome: 'refused' | 'timeout' | 'no_route' | 'no_tls' | 'no_http' };

/** What an address answered; `body`: what of it is needed, which is short. */
export type Got = Pick<IncomingMessage, 'headers'> & {
  readonly status: number;
  readonly body: string;
  /** Of a redirect that names a place; null: none. */
  readonly location: string | null;
};

/**
 * Makes one GET at an address, over a connection of its own, and resolves also where there is no answer. The certificate is
 * not checked: an authority does not either.
 */
export async function getFrom(
  url: URL,
  address: string,
  signal: AbortSignal,
): Promise<Got | Unanswered> {
  let isConnected = false;
  try {
    return await new Promise<Got>((resolve, reject) => {
      const isTls = url.protocol === 'https:';
      const options = {
        host: address,
        port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
        path: `${url.pathname}${url.search}`,
        headers: { Host: url.host, 'User-Agent': 'signpost/0.1', Connection: 'close' },
        agent: false,
        signal,
      };
      const asking = isTls
        ? httpsRequest({ ...options, servername: url.hostname, rejectUnauthorized: false })
        : httpRequest(options);
      asking.on('socket', (socket) => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => {
          isConnected = true;
        });
      });
      asking.on('response', (response) => readAnswer(response).then(resolve, reject));
      asking.on('error', reject).end();
    });
  } catch (fault) {
    return { outcome: endOf(fault, url, isConnected) };
  }
}

/** What of a body we need is short, and the rest is left unread. */
async function readAnswer(response: IncomingMessage): Promise<Got> {
  const { statusCode: status = 0, headers } = response;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  const location = isRedirect ? (headers.location ?? null) : null;
  let body = '';
  for await (const chunk of response.setEncoding('latin1') as AsyncIterable<string>) {
    body += chunk;
    if (body.length > BODY_BYTES_MAX) break;
  }
  return { status, headers, body, location };
}

function endOf(fault: unknown, url: URL, isConnected: boolean): Unanswered['outcome'] {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  const unreached = outcomeOf(fault);
  if (unreached !== 'refused') return unreached;
  if (isConnected) return 'no_http';
  const isNoTls = code === 'EPROTO' || code.startsWith('ERR_SSL_') || code === 'ECONNRESET';
  return url.protocol === 'https:' && isNoTls ? 'no_tls' : 'refused';
}
