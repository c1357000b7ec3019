/** Which header fields a gateway passes on, and which it adds (RFC 9110, 7.6). */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { PSEUDONYM } from '../../net/via.ts';
import { asksForWebSocket, switching } from './websocket.ts';

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
 * Not passed on of a request. What a client says about itself here is not believed: we are the first to see it. `Expect`
 * has been answered by the time a request is passed on.
 */
const ofRequests: ReadonlySet<string> = new Set([
  ...hopByHop,
  'expect',
  'forwarded',
  'front-end-https',
  // A CGI program would take it for HTTP_PROXY, through which it sends its own requests (CVE-2016-5385).
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
/** Whole families of the same: what a deploy behind another gateway may go by, and what only we may say. */
const ofRequestsBegin = /^(?:x-forwarded-|signpost-)/;

/**
 * Whether a field of a request is dropped. With underscores it is the same field to whoever reads it as a variable
 * (CGI, RFC 3875, 4.1.18: HTTP_X_FORWARDED_FOR), and Content_Length must not be taken for the length.
 */
function isDropped(name: string): boolean {
  if (ofRequests.has(name) || ofRequestsBegin.test(name)) return true;
  if (!name.includes('_')) return false;
  const kin = name.replaceAll('_', '-');
  return ofRequests.has(kin) || ofRequestsBegin.test(kin) || own.has(kin);
}

/** Fields whose underscored kin would contradict them. */
const own: ReadonlySet<string> = new Set([
  'host',
  'via',
  'content-length',
  'content-type',
  'authorization',
  'cookie',
]);

/** A message's length is not to be lost by naming it in `Connection`. */
const kept: ReadonlySet<string> = new Set(['content-length']);
const none: ReadonlySet<string> = new Set();

/** The header of the request that goes to the upstream; `host` in its one spelling, `client` the visitor's address. */
export function upstreamHeaders(
  request: IncomingMessage,
  client: string,
  host: string,
  primary: string | null,
): OutgoingHttpHeaders {
  const { rawHeaders, headers, httpVersion } = request;
  const passed = endToEnd(rawHeaders, headers.connection, isDropped);
  // Framed anew where it had no length, so that a body never goes out without its own end.
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

/**
 * Not passed on of an answer: `Alt-Svc` (RFC 7838) would send visitors to another port of ours, where a deploy thinks of its
 * own.
 */
const ofAnswers: ReadonlySet<string> = new Set([...hopByHop, 'alt-svc']);

/**
 * Gives the answer the name's own Strict-Transport-Security, where it has one: whatever the answer becomes, a page or the
 * deploy's. For answers over HTTPS alone, of a name that is held here (RFC 6797, 7.2 and 8.1).
 */
export function sayHsts(response: ServerResponse, { hsts }: Pick<EdgeRoute, 'hsts'>): void {
  if (hsts !== null) response.setHeader('Strict-Transport-Security', hsts);
}

/** The header of the answer that goes to the client. What `response` has already takes the place of the deploy's. */
export function clientHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  response: Pick<ServerResponse, 'hasHeader'>,
): OutgoingHttpHeaders {
  const isDropped = (name: string) => ofAnswers.has(name) || response.hasHeader(name);
  return endToEnd(rawHeaders, headers.connection, isDropped);
}

/** The fields, names and values in turns, without those that are `dropped` and those that `Connection` names. */
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
    // A field may have the name of something that every object has.
    const before = Object.hasOwn(passed, name) ? passed[name] : undefined;
    passed[name] = before === undefined ? value : [before, value].flat();
  }
  return passed;
}

/** What nearly every message says: no names of fields. */
const NAMES_NOTHING = /^(?:keep-alive|close)$/i;

function namesIn(connection: string): ReadonlySet<string> {
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !kept.has(name)));
}
