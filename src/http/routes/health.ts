/** Probes for an orchestrator: alive, and ready for work. */
import { z } from 'zod';
import { METRICS_TYPE } from '../../ops/metrics/metrics.ts';
import type { Dependency, Readiness, ReadReadiness } from '../../ops/readiness.ts';
import { refuse } from '../pipeline/errors.ts';
import type { ApiResponse } from '../pipeline/response.ts';
import { type Route, route } from '../pipeline/route.ts';

const inCommon = { method: 'GET', scope: null, tag: 'Service', stability: 'stable' } as const;

const alive = z.object({ status: z.literal('alive') });
const state = z.enum(['up', 'down', 'unknown']);
const dependency = z.enum(['database', 'migrations', 'queue']);
const ready = z.object({
  status: z.enum(['ready', 'degraded']),
  dependencies: z.object({ database: state, migrations: state, queue: state.optional() }),
  missing: z.array(dependency),
});

const words = {
  database: { down: 'does not answer', unknown: 'not asked yet' },
  migrations: { down: 'the database is older than this version', unknown: 'could not be asked' },
  queue: { down: 'does not answer', unknown: 'not asked yet' },
} as const;

const RETRY_SOON = { 'retry-after': '5' };

/** 503 names what is missing in its message: every error is the interface document's. */
export function readinessAnswer({ status, dependencies, missing }: Readiness): ApiResponse {
  if (status === 'starting') {
    return refuse('unavailable', 'Not ready: the process is still starting.', RETRY_SOON);
  }
  if (status !== 'not_ready') {
    return {
      status: 200,
      body: { status, dependencies, missing },
      headers: { 'cache-control': 'no-store' },
    };
  }
  const why = (name: Dependency) => words[name][dependencies[name] === 'down' ? 'down' : 'unknown'];
  const said = missing.map((name) => `${name} (${why(name)})`).join(', ');
  return refuse('unavailable', `Not ready, missing: ${said}.`, RETRY_SOON);
}

export function healthRoutes({
  readiness,
}: {
  readonly readiness: ReadReadiness;
}): readonly Route[] {
  return [
    route({
      ...inCommon,
      path: '/healthz',
      operationId: 'getLiveness',
      summary: 'Whether the process is alive',
      description: 'Asks nothing else: a process that cannot reach its database is alive.',
      success: {
        status: 200,
        description: 'It is',
        schema: alive,
        example: { status: 'alive' },
      },
      handle: async () => ({ status: 200, body: { status: 'alive' } }),
    }),
    route({
      ...inCommon,
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Whether the process is ready for work',
      description:
        'Asks what the process depends on. Without the queue it is `degraded` and ready all the same: what is stored now is worked on later. Without the database, or with one that is older than this version, this is 503, and its message names what is missing. So it is until the start has ended: the API key that the process was given is accepted once this is 200.',
      refusals: ['unavailable'],
      momentary: true,
      success: {
        status: 200,
        description: 'It is, `degraded` where something that can wait is missing',
        schema: ready,
        example: {
          status: 'ready',
          dependencies: { database: 'up', migrations: 'up', queue: 'up' },
          missing: [],
        },
      },
      handle: async () => readinessAnswer(await readiness()),
    }),
  ];
}

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
