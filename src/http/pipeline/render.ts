/** From an answer as a value to one for the wire: its body, its headers, and those that every answer has. */

import { hash } from 'node:crypto';
import { renderJson } from '../../net/json.ts';
import type { ApiResponse, TextStream } from './errors.ts';
import type { Headers } from './route.ts';
import type { Trace } from './trace.ts';

/** An answer that is ready to be sent. */
export type RawResponse = {
  readonly status: number;
  /** By lower-case names; `content-length` is among them where there is a text. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body, as for HEAD, 204 and 304. */
  readonly body: string | null;
  /**
   * Sent after `headers` instead of a body. Whoever has the answer must call one of its two functions, which release what it
   * holds.
   */
  readonly stream?: TextStream;
};

/** Answers come with these unless a route says otherwise: nothing here is to be framed, sniffed or kept. */
const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization, Signpost-Account',
} as const;

/** For a 200 to a GET: only the client's own cache may keep it, and asks each time whether it is still the same. */
const REVALIDATE = 'private, no-cache';

/**
 * Completes an answer for the request with this method and these headers: 304 where If-None-Match has its tag, no body for
 * HEAD. `more` are headers of the exchange rather than of the answer: rate limits, CORS. What a route says itself wins. Own
 * fields stand before what is spread: the other way round costs Node 20 six times as much, on every answer.
 */
export function render(
  answer: ApiResponse,
  { method, headers: request }: { readonly method: string; readonly headers: Headers },
  { requestId, traceparent }: Trace,
  more: Readonly<Record<string, string>>,
): RawResponse {
  const text = answer.text ?? (answer.body === undefined ? null : renderJson(answer.body));
  // A page that gets a successor has changed, although its text has not.
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
  // RFC 9110, 9.3.2: HEAD has the headers of GET, content-length too, and no body.
  return { status: answer.status, headers, body: method === 'HEAD' ? null : text };
}

/** A stream is not opened for HEAD, but what it holds is let go of. */
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

/** Whether a representation gets an entity tag: a 200 to a GET or HEAD that the route lets a client keep. */
function isRead({ status, headers }: ApiResponse, method: string): boolean {
  const isGet = method === 'GET' || method === 'HEAD';
  return status === 200 && isGet && headers?.['cache-control'] !== 'no-store';
}

/** JSON, unless the route says otherwise; the length is in bytes. */
function contentHeaders(text: string) {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  };
}

/** The strong entity tag of a representation, in its quotes. The same text gives the same tag, in every process. */
export function entityTagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`; // tells versions apart; guards nothing
}

/**
 * Whether `If-None-Match` names this tag or is `*`; false where it is missing. Weak tags compare by their value (RFC 9110,
 * 8.8.3.2).
 */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return isAny(ifNoneMatch) || listed(ifNoneMatch).some((one) => one.replace(/^W\//, '') === tag);
}

/**
 * Whether a change of what has this tag may go ahead: `If-Match` names it or is `*` or missing (RFC 9110, 13.1.1; a weak tag
 * names nothing, 8.8.3.2), and `If-None-Match` does neither (13.1.2). Where it may not, the answer is 412.
 */
export function mayChange(headers: Headers, tag: string): boolean {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const isMatched = ifMatch === undefined || isAny(ifMatch) || listed(ifMatch).includes(tag);
  return isMatched && !isUnchanged(ifNoneMatch, tag);
}

function isAny(tags: string): boolean {
  return tags.trim() === '*';
}

/** Our own tags have no comma, so a list may be split at them: no foreign part can equal one of ours. */
function listed(tags: string): readonly string[] {
  return tags.split(',').map((one) => one.trim());
}
