/**
 * METRICS_PORT: the metrics and the health of a process, whatever its roles, on a port of their own. It listens before the
 * process has a database, so that whoever waits for it can see that it lives.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from '../http/keys/auth.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import { refuse } from '../http/pipeline/errors.ts';
import { render } from '../http/pipeline/render.ts';
import type { ApiResponse } from '../http/pipeline/response.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { metricsAnswer, readinessAnswer } from '../http/routes/health.ts';
import type { ReadReadiness } from '../ops/readiness.ts';

/** What METRICS_PORT shows. */
export type OpsApiDeps = {
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  readonly readiness: ReadReadiness;
  /** The bearer token for /metrics; undefined: nobody is asked for one. */
  readonly token: string | undefined;
};

/**
 * Serves /healthz, /readyz and /metrics, to GET and HEAD. Without keys and limits: it is for those who run the process,
 * on an address that they have chosen. A fault is a 500, never a rejection.
 */
export function createOpsApi({ metrics, readiness, token }: OpsApiDeps): Api {
  const isToken = createIsMetricsToken(token);

  async function showMetrics({ headers }: RawRequest): Promise<ApiResponse> {
    const { authorization } = headers;
    if (token === undefined || isToken(authorization)) return metricsAnswer(metrics);
    return unauthorized(authorization === undefined ? 'missing' : 'invalid');
  }

  const paths: Readonly<Record<string, (raw: RawRequest) => Promise<ApiResponse>>> = {
    '/healthz': async () => ({ status: 200, body: { status: 'alive' } }),
    '/readyz': async () => readinessAnswer(await readiness()),
    '/metrics': showMetrics,
  };

  async function answer(raw: RawRequest): Promise<ApiResponse> {
    const [path = ''] = raw.target.split('?');
    const show = Object.hasOwn(paths, path) ? paths[path] : undefined;
    if (raw.refusal) return raw.refusal;
    if (show === undefined) return refuse('not_found');
    if (raw.method === 'GET' || raw.method === 'HEAD') return show(raw);
    return refuse('method_not_allowed', undefined, { allow: 'GET, HEAD' });
  }

  const isSecret = () => true; // nothing of a request is taken up here
  return {
    async handle(raw) {
      const trace = traceOf({}, isSecret);
      const answered = await answer(raw).catch(() => refuse('internal_error'));
      return render(answered, raw, trace, {});
    },
    reject: (refusal) => render(refusal, { method: 'GET', headers: {} }, traceOf({}, isSecret), {}),
  };
}

/**
 * Returns whether an Authorization header brings the token (RFC 6750, 2.1), compared in constant time; never where there
 * is none to bring.
 */
export function createIsMetricsToken(
  token: string | undefined,
): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => false;
  const wanted = digest(token);
  return (authorization) => {
    const [, given] = /^bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), wanted);
  };
}

/** Of one length, as timingSafeEqual needs it, whatever was given. */
function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
