/** A page is told of as a request to the API is: by one id in all that is said of it, one line of the log, one count. */

import type { IsSecret } from '../http/keys/secret.ts';
import type { ApiLog, RawRequest } from '../http/pipeline/api.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { inRequestSpan } from '../net/tracing.ts';
import type { CountRequest } from '../ops/metrics/traffic.ts';

export type ToldDeps = {
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
export function told(
  { isSecret, log, count }: ToldDeps,
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
