/** Which header fields a gateway passes on, and which it adds (RFC 9110, 7.6). */
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** Fields of one connection (RFC 9110, 7.6.1), and those for the next proxy (11.7). */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * What a client says about itself here is not believed: we are the first to see it. `Expect` has been answered by
 * the time a request is passed on.
 */
const oursToSay: ReadonlySet<string> = new Set([
  'expect',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
]);

/** A message's length is not to be lost by naming it in `Connection`. */
const kept: ReadonlySet<string> = new Set(['content-length']);

const PSEUDONYM = 'signpost';

/** The header of the request that goes to the upstream; `host` is kept as the client wrote it. */
export function upstreamHeaders(request: IncomingMessage, host: string): OutgoingHttpHeaders {
  const { headersDistinct, headers, httpVersion, socket } = request;
  const passed = endToEnd(headersDistinct, headers.connection);
  for (const name of oursToSay) delete passed[name];
  return {
    ...passed,
    // Framed anew where it had no length, so that a body never goes out without its own end.
    ...(headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }),
    host,
    via: [headers.via, `${httpVersion} ${PSEUDONYM}`].filter(Boolean).join(', '),
    'x-forwarded-for': socket.remoteAddress ?? 'unknown',
    'x-forwarded-host': host,
    'x-forwarded-proto': 'https',
  };
}

/** The header of the answer that goes to the client. */
export function clientHeaders({
  headersDistinct,
  headers,
}: Pick<IncomingMessage, 'headersDistinct' | 'headers'>): OutgoingHttpHeaders {
  return endToEnd(headersDistinct, headers.connection);
}

/** Whether a request has been through here before (RFC 9110, 7.6.3). */
export function isLoop({ via = '' }: IncomingHttpHeaders): boolean {
  return via.split(',').some((hop) => hop.trim().split(/\s+/)[1] === PSEUDONYM);
}

function endToEnd(
  fields: IncomingMessage['headersDistinct'],
  connection = '',
): Record<string, string | string[]> {
  const named = connection.split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set(named.filter((name) => !kept.has(name)));
  const passed: Record<string, string | string[]> = {};
  for (const [name, values = []] of Object.entries(fields)) {
    if (hopByHop.has(name) || dropped.has(name)) continue;
    const [only] = values;
    passed[name] = values.length === 1 && only !== undefined ? only : values;
  }
  return passed;
}
