import { hash } from 'node:crypto';
import { renderJson } from '../../net/json.ts';
import type { ApiResponse, TextStream } from './errors.ts';
import type { Headers } from './route.ts';
import type { Trace } from './trace.ts';

export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The receiver must call one of its two functions to release resources. */
  readonly stream?: TextStream;
};

/** Defaults: no framing, no sniffing, no caching. */
const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization, Signpost-Account',
} as const;

/** Only the client's own cache can store a response, and must revalidate it. */
const REVALIDATE = 'private, no-cache';

/**
 * Header precedence: route, then `more` (rate limits, CORS), then defaults. Own fields come before
 * spread ones; the reverse is six times slower on Node 20.
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

/** HEAD does not open a stream, but releases its resources. */
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

/** Whether a response gets an entity tag. */
function isRead({ status, headers }: ApiResponse, method: string): boolean {
  const isGet = method === 'GET' || method === 'HEAD';
  return status === 200 && isGet && headers?.['cache-control'] !== 'no-store';
}

function contentHeaders(text: string) {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
  };
}

/** A strong, quoted entity tag; the same in every process. */
export function entityTagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`; // not a security feature
}

/** Weak tags are compared by their value (RFC 9110, 8.8.3.2). */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return isAny(ifNoneMatch) || listed(ifNoneMatch).some((one) => one.replace(/^W\//, '') === tag);
}

/** RFC 9110, 13.1.1 and 13.1.2; weak tags never match `If-Match` (8.8.3.2). */
export function mayChange(headers: Headers, tag: string): boolean {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const isMatched = ifMatch === undefined || isAny(ifMatch) || listed(ifMatch).includes(tag);
  return isMatched && !isUnchanged(ifNoneMatch, tag);
}

function isAny(tags: string): boolean {
  return tags.trim() === '*';
}

/** Our tags contain no comma. */
function listed(tags: string): readonly string[] {
  return tags.split(',').map((one) => one.trim());
}
