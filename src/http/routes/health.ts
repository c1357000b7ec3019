/** Probes for an orchestrator: alive, and ready for work. */
import { z } from 'zod';
import { METRICS_TYPE } from '../../ops/metrics/metrics.ts';
import type { Dependency, Readiness, ReadReadiness } from '../../ops/readiness.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';

const inCommon = { method: 'GET', scope: null, tag: 'Service', stability: 'stable' } as const;

/** The body of `/healthz`. */
const alive = z.object({ status: z.literal('alive') });
/** `unknown`: it could not be asked. */
const state = z.enum(['up', 'down', 'unknown']);
const dependency = z.enum(['database', 'migrations', 'queue']);
/** The body of `/readyz` where it is 200. `missing` is what is not up. */
const ready = z.object({
  status: z.enum(['ready', 'degraded']),
  dependencies: z.object({ database: state, migrations: state, queue: state.optional() }),
  missing: z.array(dependency),
});

/** Why a dependency is missing, by its state. */
const words = {
  database: { down: 'does not answer', unknown: 'not asked yet' },
  migrations: { down: 'the database is older than this version', unknown: 'could not be asked' },
  queue: { down: 'does not answer', unknown: 'not asked yet' },
} as const;

/** Seconds. */
const RETRY_SOON = { 'retry-after': '5' };

/**
 * The answer for a reading of the readiness: 200 for `ready` and `degraded`, else 503 with `retry-after`, whose message
 * names what is missing or says that the process is starting. It is an Error like any other.
 */
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

/** `/healthz`, which is 200 for as long as the process answers, and `/readyz`. Neither needs a key. */
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

/** Where the metrics come from, and who may read them without a key. */
export type MetricsRoutesDeps = {
  /** The text in Prometheus' format. */
  metrics(): Promise<string>;
  /** Whether an Authorization header has METRICS_TOKEN. */
  readonly isMetricsToken: (authorization: string | undefined) => boolean;
};

/** 200 with the text as it is at that moment, never to be kept. Rejects where the metrics cannot be read. */
export async function metricsAnswer(metrics: () => Promise<string>): Promise<ApiResponse> {
  const headers = { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' };
  return { status: 200, text: await metrics(), headers };
}

/** `/metrics`, for a key with `ops:read` or the bearer of METRICS_TOKEN. */
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
