import { z } from 'zod';
import { METRICS_TYPE } from '../../ops/metrics/metrics.ts';
import {
  type Dependency,
  dependencyNames,
  dependencyStates,
  type Readiness,
  type ReadReadiness,
} from '../../ops/readiness.ts';
import type { Service } from '../../service/service.ts';
import { createIsMetricsToken } from '../keys/auth.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';

const inCommon = { scope: null, tag: 'Service', stability: 'stable' } as const;

const alive = z.object({ status: z.literal('alive') });
const state = z.enum(dependencyStates);
/** `missing` lists everything that is not up. */
const ready = z.object({
  status: z.enum(['ready', 'degraded']),
  dependencies: z.object({ database: state, migrations: state, queue: state.optional() }),
  missing: z.array(z.enum(dependencyNames)),
});

const words = {
  database: { down: 'does not answer', unknown: 'not checked yet' },
  migrations: { down: 'the database schema is outdated', unknown: 'could not be checked' },
  queue: { down: 'does not answer', unknown: 'not checked yet' },
} as const satisfies Readonly<Record<Dependency, object>>;

/** Seconds. */
const RETRY_SOON = { 'retry-after': '5' };

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

/** Both work without a key. */
export function healthRoutes(readiness: ReadReadiness): readonly Route[] {
  return [
    route({
      ...inCommon,
      at: 'GET /healthz',
      operationId: 'getLiveness',
      summary: 'Check that the process is alive',
      description: 'Checks no dependencies: a process without a database connection is alive.',
      success: success(200, 'It is', alive, { status: 'alive' }),
      handle: async () => ({ status: 200, body: { status: 'alive' } }),
    }),
    route({
      ...inCommon,
      at: 'GET /readyz',
      operationId: 'getReadiness',
      summary: 'Check that the process is ready',
      description:
        'Checks the dependencies of the process. Without Redis, the status is `degraded` with 200: requests are stored and processed later. Without the database, with outdated migrations or during startup, the status is 503 and the message lists what is missing. The configured API key works once this answers 200.',
      refusals: ['unavailable'],
      momentary: true,
      success: success(200, 'Ready; `degraded` if Redis is missing', ready, {
        status: 'ready',
        dependencies: { database: 'up', migrations: 'up', queue: 'up' },
        missing: [],
      }),
      handle: async () => readinessAnswer(await readiness()),
    }),
  ];
}

/** Not cacheable. Rejects if the metrics cannot be read. */
export async function metricsAnswer(metrics: () => Promise<string>): Promise<ApiResponse> {
  const headers = { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' };
  return { status: 200, text: await metrics(), headers };
}

export function metricsRoute({ config, metrics }: Service): Route {
  return route({
    at: 'GET /metrics',
    operationId: 'getMetrics',
    tag: 'Service',
    stability: 'beta',
    scope: 'ops:read',
    summary: 'Get metrics',
    description:
      'Metrics of the process and the installation in Prometheus text format. A scraper can send METRICS_TOKEN as bearer token instead of a key. That token gives access only to metrics.',
    momentary: true,
    takesInstead: createIsMetricsToken(config.metrics.token),
    success: success(200, 'Metrics', 'text/plain', 'signpost_checks_total{verdict="right"} 1024\n'),
    handle: () => metricsAnswer(async () => metrics?.text() ?? ''),
  });
}
