/** What operators watch of a process, from its first moment on, and the port where they do. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../core/names/reserved-addresses.ts';
import { queueNames } from '../core/operations/jobs.ts';
import type { Database } from '../db/engine/client.ts';
import { readInstallation } from '../db/installation.ts';
import { unauthorized } from '../http/keys/auth.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import { type ApiResponse, refuse } from '../http/pipeline/errors.ts';
import { render } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { metricsAnswer, readinessAnswer } from '../http/routes/health.ts';
import { listen } from '../http/socket/server.ts';
import { createMetrics, type Metrics } from '../ops/metrics/metrics.ts';
import type { Role } from '../ops/metrics/process.ts';
import { type ReadReadiness, readReadiness } from '../ops/readiness.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';

/** What the process has opened so far; null: not yet. Readiness is read from it. */
export type OpenedSoFar = {
  /** Every role is at work, and the first key is accepted. */
  isStarted: boolean;
  database: Database | null;
  backend: QueueBackend | null;
};

/** The metrics and the readiness of a process. */
export type Ops = {
  readonly metrics: Metrics;
  /** Filled while the process starts. */
  readonly opened: OpenedSoFar;
  /** The same on METRICS_PORT and on the API's port. */
  readonly readiness: ReadReadiness;
  /** Of METRICS_PORT, as it was bound; null where there is none. */
  readonly port: number | null;
  /** Shows the pool, and in a process of the role `api` the state of the installation. To be called once. */
  watch(parts: { readonly database: Database; readonly queues: Queues }): void;
  close(deadlineMs: number): Promise<void>;
};

/** Whether METRICS_PORT shows everything to whoever reaches this machine. */
function isOpenToAll({ http: { host }, metrics: { port, token } }: Config): boolean {
  return port !== undefined && token === undefined && !isLoopback(host);
}

/** Opens METRICS_PORT, where there is one, before anything else is open. Rejects where it cannot be had. */
export async function openOps(config: Config, log: Pick<Logger, 'warn'>): Promise<Ops> {
  const roles = rolesOf(config);
  const metrics = createMetrics(roles);
  const opened: OpenedSoFar = { isStarted: false, database: null, backend: null };
  const { port, token } = config.metrics;
  const readiness = () => readReadiness(roles, opened);
  const api = createOpsApi({ metrics: metrics.text, readiness, token });
  const { host } = config.http;
  if (isOpenToAll(config)) {
    log.warn({ host, port }, 'METRICS_PORT asks nobody for a token here: set METRICS_TOKEN');
  }
  const server =
    port === undefined ? null : await listen(api, { host, port, variable: 'METRICS_PORT' });
  return {
    metrics,
    opened,
    readiness,
    port: server?.address.port ?? null,
    watch({ database, queues }) {
      metrics.process.watchPool(database.pool);
      if (!roles.includes('api')) return;
      metrics.watchInstallation({
        state: () => readInstallation(database.prisma),
        queues: () => countJobs(queues),
      });
    },
    async close(deadlineMs) {
      metrics.close();
      await server?.close(deadlineMs);
    },
  };
}

async function countJobs(queues: Queues): Promise<Readonly<Record<string, QueueCounts>>> {
  const counted = queueNames.map(async (name) => [name, await queues.counts(name)] as const);
  return Object.fromEntries(await Promise.all(counted));
}

/** Returns the roles that this process plays. No edge of ours starts where another one serves the domains. */
export function rolesOf({ role, certificates }: Config): readonly Role[] {
  const played: readonly Role[] = role === 'all' ? ['api', 'worker', 'edge'] : [role];
  return played.filter((one) => one !== 'edge' || certificates.source === 'own');
}

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
