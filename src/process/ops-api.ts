import type { Config } from '../config/config.ts';
import { unauthorized } from '../http/keys/auth.ts';
import { createIsMetricsToken } from '../http/keys/metrics-token.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import { type ApiResponse, refuse } from '../http/pipeline/errors.ts';
import { render } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { metricsAnswer, readinessAnswer } from '../http/routes/health.ts';
import type { Metrics } from '../ops/metrics/metrics.ts';
import type { ReadReadiness } from '../ops/readiness.ts';

/** No keys or rate limits: the operator chose its address. Never rejects. */
export function createOpsApi(
  { metrics: { token } }: Pick<Config, 'metrics'>,
  metrics: Pick<Metrics, 'text'>,
  readiness: ReadReadiness,
): Api {
  const isToken = createIsMetricsToken(token);

  async function showMetrics({ headers }: RawRequest): Promise<ApiResponse> {
    const { authorization } = headers;
    if (token === undefined || isToken(authorization)) return metricsAnswer(metrics.text);
    return unauthorized({ kind: authorization === undefined ? 'missing' : 'unknown' });
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

  const isSecret = () => true; // no request header is used here
  return {
    async handle(raw) {
      const trace = traceOf({}, isSecret);
      const answered = await answer(raw).catch(() => refuse('internal_error'));
      return render(answered, raw, trace, {});
    },
    reject: (refusal) => render(refusal, { method: 'GET', headers: {} }, traceOf({}, isSecret), {}),
  };
}
