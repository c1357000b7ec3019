/** Prometheus' scrapes. */
import { METRICS_TYPE } from '../../ops/metrics/metrics.ts';
import type { ApiResponse } from '../response.ts';
import type { Route } from '../route.ts';
import { route } from '../route.ts';

export type MetricsRoutesDeps = {
  /** In Prometheus' text format. */
  metrics(): Promise<string>;
  /** Whether an Authorization header has METRICS_TOKEN. */
  readonly isMetricsToken: (authorization: string | undefined) => boolean;
};

export async function metricsAnswer(metrics: () => Promise<string>): Promise<ApiResponse> {
  const headers = { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' };
  return { status: 200, text: await metrics(), headers };
}

export function metricsRoutes({ metrics, isMetricsToken }: MetricsRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      operationId: 'getMetrics',
      tag: 'Service',
      stability: 'beta',
      scope: 'ops:read',
      summary: 'Metrics of the process and of the installation',
      description:
        "Prometheus' text format. A scraper may send the bearer token of METRICS_TOKEN instead of a key; that token opens nothing else.",
      momentary: true,
      takesInstead: isMetricsToken,
      success: {
        status: 200,
        description: 'The metrics',
        mediaType: 'text/plain',
        example: 'signpost_checks_total{verdict="right"} 1024\n',
      },
      handle: () => metricsAnswer(metrics),
    }),
  ];
}
