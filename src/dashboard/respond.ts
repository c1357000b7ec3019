import { createIsSecret } from '../http/keys/auth.ts';
import type { RawRequest } from '../http/pipeline/api.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { inRequestSpan } from '../net/tracing.ts';
import type { Service } from '../service/service.ts';
import type { Asset } from './assets.ts';
import { PAGE_POLICY } from './layout.ts';

const security = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'content-security-policy': PAGE_POLICY,
} as const;

/** `cache`: the Cache-Control value. The length is in UTF-8 bytes. */
export function headersOf(text: string, contentType: string, cache: string) {
  return {
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': cache,
    ...security,
  };
}

/** A page that must not be cached. */
export function shown(
  text: string,
  status: number,
  more: RawResponse['headers'] = {},
): RawResponse {
  const headers = headersOf(text, 'text/html; charset=utf-8', 'no-store');
  return { status, headers: { ...headers, ...more }, body: text };
}

/**
 * A 303, which browsers follow with GET. `cookie`: a Set-Cookie value. Throws for an address that
 * is invalid in a header (RFC 9110, 5.5).
 */
export function redirectTo(location: string, cookie?: string): RawResponse {
  if (!/^[\x21-\x7e]+$/.test(location)) throw new Error('invalid redirect address');
  const headers = { location, 'cache-control': 'no-store', 'content-length': '0', ...security };
  return {
    status: 303,
    headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie },
    body: '',
  };
}

/** Cacheable for a year: the name contains a content hash. */
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

/** For HEAD, drops the body and discards the stream. */
export function withoutBody({ method }: RawRequest, response: RawResponse): RawResponse {
  if (method !== 'HEAD') return response;
  const { stream, ...rest } = response;
  stream?.discard();
  return { ...rest, body: null };
}

/** `path`: the pattern of a page. Requested paths have unlimited values. */
export function labelOf(path: string): string {
  return `page:${path}`;
}

export function idOf({ headers }: Pick<RawRequest, 'headers'>): string | undefined {
  return headers['x-request-id'];
}

/** Frequent and uninteresting, so logged at `debug`. */
export const ASSETS = labelOf('/assets');

/**
 * Logs and counts a request under `label`. `answer` gets ID and trace in the headers, so that its
 * API calls have them too. Rejects only if `answer` does.
 */
export function logged(
  { config, log, metrics }: Pick<Service, 'config' | 'log' | 'metrics'>,
  raw: RawRequest,
  label: string,
  answer: (raw: RawRequest) => Promise<RawResponse>,
): Promise<RawResponse> {
  const isSecret = createIsSecret(config.apiKey);
  return inRequestSpan(raw, async (span) => {
    const startedAt = performance.now();
    const { requestId, traceId, traceparent } = traceOf(raw.headers, isSecret, span.traceparent);
    const headers = { ...raw.headers, 'x-request-id': requestId, traceparent };
    const response = await answer({ ...raw, headers });
    const { status } = response;
    const elapsedMs = performance.now() - startedAt;
    // The metric uses seconds, the log milliseconds with two decimals.
    metrics?.request(label, status, elapsedMs / 1_000);
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
