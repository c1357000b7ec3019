/** From an answer as a value to one for the wire: body, its headers, and those that every answer has. */
import { entityTagOf, isUnchanged } from './conditional.ts';
import { renderJson } from './json.ts';
import type { ApiResponse, Headers } from './route.ts';
import type { Trace } from './trace.ts';

export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body, as for HEAD, 204 and 304. */
  readonly body: string | null;
};

/** Answers come with these unless a route says otherwise: nothing here is to be framed, sniffed or kept. */
const standardHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization',
} as const;

/** A 200 to a GET may be kept by the client alone, which asks each time whether it is still the same. */
const REVALIDATE = 'private, no-cache';

/** `more` are headers of the exchange rather than of the answer: rate limits, CORS. */
export function render(
  answer: ApiResponse,
  { method, headers: request }: { readonly method: string; readonly headers: Headers },
  trace: Trace,
  more: Readonly<Record<string, string>>,
): RawResponse {
  const text = answer.text ?? (answer.body === undefined ? null : renderJson(answer.body));
  const headers: Record<string, string> = { ...standardHeaders, ...more };
  headers['x-request-id'] = trace.requestId;
  headers['traceparent'] = trace.traceparent;
  const isRead = answer.status === 200 && (method === 'GET' || method === 'HEAD');
  if (text !== null && isRead) {
    headers['cache-control'] = REVALIDATE;
    headers['etag'] = entityTagOf(text);
  }
  Object.assign(headers, answer.headers);
  if (isRead && isUnchanged(request['if-none-match'], headers['etag'] ?? '')) {
    return { status: 304, headers, body: null };
  }
  if (text !== null) {
    headers['content-type'] ??= 'application/json; charset=utf-8';
    headers['content-length'] = String(Buffer.byteLength(text));
  }
  // RFC 9110, 9.3.2: HEAD has the headers of GET, content-length too, and no body.
  return { status: answer.status, headers, body: method === 'HEAD' ? null : text };
}
