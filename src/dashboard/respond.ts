/** Pages, redirects and assets as they leave: with what every one of them is sent with. */

import type { IsSecret } from '../http/keys/auth.ts';
import type { ApiLog, RawRequest } from '../http/pipeline/api.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { inRequestSpan } from '../net/tracing.ts';
import type { CountRequest } from '../ops/metrics/traffic.ts';
import type { Asset } from './assets.ts';
import { PAGE_POLICY } from './layout.ts';

const security = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'content-security-policy': PAGE_POLICY,
} as const;

/** `cache`: the Cache-Control. */
export function headersOf(text: string, contentType: string, cache: string) {
  return {
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': cache,
    ...security,
  };
}

export function shown(text: string, status: number): RawResponse {
  return { status, headers: headersOf(text, 'text/html; charset=utf-8', 'no-store'), body: text };
}

/** Throws where the address is none that a header can have (RFC 9110, 5.5): the server would drop the connection. */
export function redirect(location: string, cookie?: string): RawResponse {
  if (!/^[\x21-\x7e]+$/.test(location)) throw new Error('a redirect to what is no address');
  const headers = { location, 'cache-control': 'no-store', 'content-length': '0', ...security };
  return {
    status: 303,
    headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie },
    body: '',
  };
}

/** Named by its content, so that it never changes. */
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

export function withoutBody({ method }: RawRequest, response: RawResponse): RawResponse {
  if (method !== 'HEAD') return response;
  const { stream, ...rest } = response;
  stream?.discard();
  return { ...rest, body: null };
}

export type RequestLogDeps = {
  readonly isSecret: IsSecret;
  readonly log: ApiLog;
  readonly count?: CountRequest;
};

/** In place of an operation's name. `path`: the pattern of a page, never the path that was asked for. */
export function labelOf(path: string): string {
  return `page:${path}`;
}

/** The id by which everything that is said of a request is found. */
export function idOf({ headers }: Pick<RawRequest, 'headers'>): string | undefined {
  return headers['x-request-id'];
}

/** Of everything that a page is made with; asked for so often, and told so little by, that its lines are at `debug`. */
export const ASSETS = labelOf('/assets');

/**
 * `answer` is asked with the id and the trace in the headers of its request, so that the calls which it makes to the API have
 * them, too. Never rejects where `answer` does not.
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
