/** Which header fields the proxy forwards, and which it adds (RFC 9110, 7.6). */
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { asksForWebSocket, switching } from './websocket.ts';

/** Fields of a single connection (RFC 9110, 7.6.1), and those for the next proxy (11.7). */
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
 * Fields that apply to one hop, or with which a client could fake its address. `Expect` is answered
 * before forwarding.
 */
const ofRequests: ReadonlySet<string> = new Set([
  ...hopByHop,
  'expect',
  'forwarded',
  'front-end-https',
  // CGI programs would expose it as HTTP_PROXY and use it for their own requests (CVE-2016-5385).
  'proxy',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
  'true-client-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'fastly-client-ip',
  'fly-client-ip',
]);
/** Deploys trust these from a gateway, and only the edge sets them. */
const ofRequestsBegin = /^(?:x-forwarded-|signpost-)/;

/** CGI treats underscores like hyphens (RFC 3875, 4.1.18), so Content_Length must not pass. */
function isDropped(name: string): boolean {
  if (ofRequests.has(name) || ofRequestsBegin.test(name)) return true;
  if (!name.includes('_')) return false;
  const kin = name.replaceAll('_', '-');
  return ofRequests.has(kin) || ofRequestsBegin.test(kin) || own.has(kin);
}

/** Fields whose variants with underscores would contradict them. */
const own: ReadonlySet<string> = new Set([
  'host',
  'via',
  'content-length',
  'content-type',
  'authorization',
  'cookie',
]);

/** `Connection` cannot remove the message length. */
const kept: ReadonlySet<string> = new Set(['content-length']);
const none: ReadonlySet<string> = new Set();

const PSEUDONYM = 'signpost';

/** `host` is canonical, `client` the visitor's address. */
export function upstreamHeaders(
  request: IncomingMessage,
  client: string,
  host: string,
  primary: string | null,
): OutgoingHttpHeaders {
  const { rawHeaders, headers, httpVersion } = request;
  const passed = endToEnd(rawHeaders, headers.connection, isDropped);
  // A body without a length is chunked, so that it always has an end.
  if (headers['transfer-encoding'] !== undefined) passed['transfer-encoding'] = 'chunked';
  passed['host'] = host;
  const hop = `${httpVersion} ${PSEUDONYM}`;
  passed['via'] = headers.via ? `${headers.via}, ${hop}` : hop;
  passed['x-forwarded-for'] = client;
  passed['x-forwarded-host'] = host;
  passed['x-forwarded-proto'] = 'https';
  if (primary !== null) passed['signpost-primary-domain'] = primary;
  return asksForWebSocket(request) ? Object.assign(passed, switching) : passed;
}

/** `Alt-Svc` (RFC 7838) would send visitors to another port of the edge. */
const ofAnswers: ReadonlySet<string> = new Set([...hopByHop, 'alt-svc']);

/** Only for HTTPS responses of a held name (RFC 6797, 7.2 and 8.1). */
export function sayHsts(response: ServerResponse, { hsts }: Pick<EdgeRoute, 'hsts'>): void {
  if (hsts !== null) response.setHeader('Strict-Transport-Security', hsts);
}

/** Fields already set on `response` replace the deploy's. */
export function clientHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  response: Pick<ServerResponse, 'hasHeader'>,
): OutgoingHttpHeaders {
  const isDropped = (name: string) => ofAnswers.has(name) || response.hasHeader(name);
  return endToEnd(rawHeaders, headers.connection, isDropped);
}

/** Whether a request already passed through here (RFC 9110, 7.6.3). */
export function isLoop({ via = '' }: IncomingHttpHeaders): boolean {
  return via.split(',').some((hop) => hop.trim().split(/\s+/)[1] === PSEUDONYM);
}

/** Without `dropped` and the fields that `Connection` names. */
function endToEnd(
  fields: readonly string[],
  connection: string | undefined,
  dropped: (name: string) => boolean,
): Record<string, string | string[]> {
  const named =
    connection === undefined || NAMES_NOTHING.test(connection) ? none : namesIn(connection);
  const passed: Record<string, string | string[]> = {};
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] ?? '').toLowerCase();
    const value = fields[at + 1] ?? '';
    if (dropped(name) || named.has(name)) continue;
    // A field name can equal an inherited property name.
    const before = Object.hasOwn(passed, name) ? passed[name] : undefined;
    passed[name] = before === undefined ? value : [before, value].flat();
  }
  return passed;
}

/** The common values of `Connection`, which name no fields. */
const NAMES_NOTHING = /^(?:keep-alive|close)$/i;

function namesIn(connection: string): ReadonlySet<string> {
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !kept.has(name)));
}
