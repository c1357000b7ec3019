/** Renders a response value for the wire: its body, its headers and those of every response. */

import { hash } from 'node:crypto';
import { renderJson } from '../../net/json.ts';
import type { ApiResponse, TextStream } from './errors.ts';
import type { Headers } from './route.ts';
import type { Trace } from './trace.ts';

/** A response that is ready to be sent. */
export type RawResponse = {
  readonly status: number;
  /** By lower-case name, including `content-length` if there is a text. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body, as for HEAD, 204 and 304. */
  readonly body: string | null;
  /**
   * Sent after `headers` instead of a body. The receiver must call one of its two functions to
   * release resources.
   */
  readonly stream?: TextStream;
};

/** Defaults: no framing, no sniffing, no caching. */
const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization',
} as const;

/** For a 200 to a GET: only the client's own cache can store it, and must revalidate. */
const REVALIDATE = 'private, no-cache';

/**
 * Completes a response for this method and these headers: 304 if If-None-Match matches, no body for
 * HEAD. `more` are headers of the exchange: rate limits, CORS. The route's own headers win.
 * Own fields come before spread ones; the reverse order is six times slower on Node 20.
 */
export function render(
  answer: ApiResponse,
  { method, headers: request }: { readonly method: string; readonly headers: Headers },
  { requestId, traceparent }: Trace,
  more: Readonly<Record<string, string>>,
): RawResponse {
  const text = answer.text ?? (answer.body === undefined ? null : renderJson(answer.body));
  // A page with a new successor has changed even if its text has not.
  const tag =
    text !== null && isRead(answer, method)
      ? entityTagOf(text + (answer.headers?.['link'] ?? ''))
      : null;
  const isSame = tag !== null && isUnchanged(request['if-none-match'], tag);
  const headers = {
    'x-request-id': requestId,
    traceparent,
    ...standardHeaders,
    ...(text !== null && !isSame && contentHeaders(text)),
    ...(tag !== null && { 'cache-control': REVALIDATE, etag: tag }),
    ...more,
    ...answer.headers,
  };
  if (isSame) return { status: 304, headers, body: null };
  if (answer.stream !== undefined) return streamed(answer.status, headers, answer.stream, method);
  // RFC 9110, 9.3.2: HEAD has the headers of GET, including content-length, and no body.
  return { status: answer.status, headers, body: method === 'HEAD' ? null : text };
}

/** HEAD does not open a stream, but its resources are released. */
function streamed(
  status: number,
  headers: RawResponse['headers'],
  stream: TextStream,
  method: string,
): RawResponse {
  if (method !== 'HEAD') return { status, headers, body: null, stream };
  stream.discard();
  return { status, headers, body: null };
}

/** Whether a response gets an entity tag: a cacheable 200 to a GET or HEAD. */
function isRead({ status, headers }: ApiResponse, method: string): boolean {
  const isGet = method === 'GET' || method === 'HEAD';
  return status === 200 && isGet && headers?.['cache-control'] !== 'no-store';
}

/** JSON unless the route says otherwise; the length is in bytes. */
function contentHeaders(text: string) {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  };
}

/** The strong, quoted entity tag of a text. It is the same in every process. */
export function entityTagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`; // tells versions apart; not a security feature
}

/**
 * Whether `If-None-Match` matches this tag or is `*`; false if it is missing. Weak tags are
 * compared by their value (RFC 9110, 8.8.3.2).
 */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return isAny(ifNoneMatch) || listed(ifNoneMatch).some((one) => one.replace(/^W\//, '') === tag);
}

/**
 * Whether the preconditions allow a change: `If-Match` matches, is `*` or missing (RFC 9110,
 * 13.1.1; weak tags never match, 8.8.3.2), and `If-None-Match` does not match (13.1.2). Otherwise
 * the response is 412.
 */
export function mayChange(headers: Headers, tag: string): boolean {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const isMatched = ifMatch === undefined || isAny(ifMatch) || listed(ifMatch).includes(tag);
  return isMatched && !isUnchanged(ifNoneMatch, tag);
}

function isAny(tags: string): boolean {
  return tags.trim() === '*';
}

/** Our own tags contain no comma, so a list can be split at commas. */
function listed(tags: string): readonly string[] {
  return tags.split(',').map((one) => one.trim());
}
