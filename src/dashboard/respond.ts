/** Pages, redirects and assets as they leave: with what every one of them is sent with. */

import type { IsSecret } from '../http/keys/auth.ts';
import type { ApiLog, RawRequest } from '../http/pipeline/api.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { inRequestSpan } from '../net/tracing.ts';
import type { CountRequest } from '../ops/metrics/traffic.ts';
import type { Asset } from './assets.ts';
import { PAGE_POLICY } from './layout.ts';

/** The headers of everything that the dashboard sends, beside those of its kind. */
const security = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'content-security-policy': PAGE_POLICY,
} as const;

/** The headers of a text. `cache`: the Cache-Control value. The length counts bytes in UTF-8. */
export function headersOf(text: string, contentType: string, cache: string) {
  return {
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': cache,
    ...security,
  };
}

/** A page, which browsers and proxies must not keep. */
export function shown(text: string, status: number): RawResponse {
  return { status, headers: headersOf(text, 'text/html; charset=utf-8', 'no-store'), body: text };
}

/**
 * A 303, which browsers follow with GET. `cookie`: a Set-Cookie value. Throws where the address is none that a header
 * can have (RFC 9110, 5.5): the server would drop the connection.
 */
export function redirect(location: string, cookie?: string): RawResponse {
  if (!/^[\x21-\x7e]+$/.test(location)) throw new Error('a redirect to what is no address');
  const headers = { location, 'cache-control': 'no-store', 'content-length': '0', ...security };
  return {
    status: 303,
    headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie },
    body: '',
  };
}

/** An asset, which anybody may keep for a year: it is named by its content, so that it never changes. */
export function kept({ text, contentType }: Asset): RawResponse {
  return {
    status: 200,
    headers: {
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'public, max-age=31536000, immutable',
      ...security,
    },
    body: text,
  };
}

/**
 * The response as HEAD is answered: its headers without a body, a stream discarded. For any other method, the
 * response itself.
 */
export function withoutBody({ method }: RawRequest, response: RawResponse): RawResponse {
  if (method !== 'HEAD') return response;
  const { stream, ...rest } = response;
  stream?.discard();
  return { ...rest, body: null };
}

/** Where requests for pages are logged and counted. */
export type RequestLogDeps = {
  /** Keeps a request id that holds a part of a key out of the log. */
  readonly isSecret: IsSecret;
  readonly log: ApiLog;
  /** Missing: requests are not counted. */
  readonly count?: CountRequest;
};

/**
 * What stands in the log and the metrics in place of an operation's name. `path`: the pattern of a page, never the
 * path that was asked for, of which there is no end.
 */
export function labelOf(path: string): string {
  return `page:${path}`;
}

/** The id by which everything that is logged of a request is found; undefined where it has none yet. */
export function idOf({ headers }: Pick<RawRequest, 'headers'>): string | undefined {
  return headers['x-request-id'];
}

/**
 * The label of everything that a page is made with. Asked for so often, and of so little interest, that its lines are
 * at `debug`.
 */
export const ASSETS = labelOf('/assets');

/**
 * Answers a request in a span of its own, logs it and counts it under `label`. `answer` gets the request with its id
 * and trace in the headers, so that the calls which it makes to the API have them, too; the response has them as
 * well. Never rejects where `answer` does not.
 */
export function logged(
  { isSecret, log, count }: RequestLogDeps,
  raw: RawRequest,
  label: string,
  answer: (raw: RawRequest) => Promise<RawResponse>,
): Promise<RawResponse> {
  return inRequestSpan(raw, async (span) => {
    const startedAt = performance.now();
    const { requestId, traceId, traceparent } = traceOf(raw.headers, isSecret, span.traceparent);
    const headers = { ...raw.headers, 'x-request-id': requestId, traceparent };
    const response = await answer({ ...raw, headers });
    const { status } = response;
    const elapsedMs = performance.now() - startedAt;
    // The metric is in seconds, the log in milliseconds with two decimals.
    count?.(label, status, elapsedMs / 1_000);
    span.answered(label, status);
    const ms = Math.round(elapsedMs * 100) / 100;
    const line = { status, ms, requestId, traceId, method: raw.method, operationId: label };
    if (label === ASSETS && status < 400) log.debug(line, 'answered');
    else log.info(line, 'answered');
    return {
      ...response,
      headers: { ...response.headers, 'x-request-id': requestId, traceparent },
    };
  });
}

/** Whether a person has sent the browser there: a client of the API does not ask for HTML. */
export function wantsPage({ method, target, headers }: RawRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && !target.startsWith('/v1/') && headers['accept']?.includes('text/html') === true;
}

/**
 * The sign-in with the way back: to the page that was asked for, or on which the form was. `why`: the key has ended.
 */
export function signInPath(
  { method, target, headers }: RawRequest,
  basePath: string,
  why?: 'ended',
) {
  const from = URL.canParse(headers['referer'] ?? '') ? new URL(headers['referer'] ?? '') : null;
  const isOurs = from?.host === headers['host'] && from?.pathname.startsWith(basePath);
  const page = isOurs && from ? from.pathname.slice(basePath.length) : '/projects';
  const then = method === 'POST' ? page : target;
  return `/?then=${encodeURIComponent(then)}${why === undefined ? '' : `&why=${why}`}`;
}
