/** One GET request to one address, whatever the name in the URL resolves to. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { portOf } from '../../core/certificates/reach.ts';
import { failureOutcome } from '../served/probe.ts';

/** Our response has 43 bytes. */
const BODY_BYTES_MAX = 4_096;

type Unanswered = { readonly outcome: 'refused' | 'timeout' | 'no_route' | 'no_tls' | 'no_http' };

export type Got = Pick<IncomingMessage, 'headers'> & {
  readonly status: number;
  /** At most a few kilobytes of it. */
  readonly body: string;
  /** Of a redirect. */
  readonly location: string | null;
};

/** Like a CA, it does not verify the certificate. Network failures do not reject it. */
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
        port: portOf(url),
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
    return { outcome: outcomeOf(fault, url, isConnected) };
  }
}

async function readAnswer(response: IncomingMessage): Promise<Got> {
  const { statusCode: status = 0, headers } = response;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  let body = '';
  for await (const chunk of response.setEncoding('latin1') as AsyncIterable<string>) {
    body += chunk;
    if (body.length > BODY_BYTES_MAX) break; // also ends the connection
  }
  return { status, headers, body, location: isRedirect ? (headers.location ?? null) : null };
}

function outcomeOf(fault: unknown, url: URL, isConnected: boolean): Unanswered['outcome'] {
  const failure = failureOutcome(fault);
  if (failure !== 'refused') return failure;
  if (isConnected) return 'no_http';
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  const isTlsFailure = code === 'EPROTO' || code === 'ECONNRESET' || code.startsWith('ERR_SSL_');
  return url.protocol === 'https:' && isTlsFailure ? 'no_tls' : 'refused';
}
