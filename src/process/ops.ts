/** Metrics and readiness of a process from its first moment. */
import type { Logger } from 'pino';
import { type Config, rolesOf } from '../config/config.ts';
import { queueNames } from '../core/operations/jobs.ts';
import { readInstallation } from '../db/installation.ts';
import { createIsMetricsToken, unauthorized } from '../http/keys/auth.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import { type ApiResponse, refuse } from '../http/pipeline/errors.ts';
import { render } from '../http/pipeline/render.ts';
import { traceOf } from '../http/pipeline/trace.ts';
import { metricsAnswer, readinessAnswer } from '../http/routes/health.ts';
import { listenHttp } from '../http/socket/server.ts';
import { isLoopback } from '../net/client-address.ts';
import { createMetrics, type Metrics } from '../ops/metrics/metrics.ts';
import { createOutageLog } from '../ops/outages.ts';
import { type OpenedSoFar, type ReadReadiness, readReadiness } from '../ops/readiness.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';
import { directoriesOf } from '../service/authorities.ts';
import { loadFleet } from '../service/fleet.ts';
import type { Service } from '../service/service.ts';

type WatchedParts = Pick<Service, 'authorities' | 'backend' | 'config' | 'database' | 'queues'>;

export type Ops = {
  readonly metrics: Metrics;
  readonly opened: OpenedSoFar;
  /** The same on METRICS_PORT and on the API's port. */
  readonly readiness: ReadReadiness;
  /** The bound METRICS_PORT. */
  readonly port: number | null;
  /** Call it once. */
  watch(service: WatchedParts): void;
  /** Before the dependencies are closed: no probe runs after it. */
  endWatch(): Promise<void>;
  close(deadlineMs: number): Promise<void>;
};

/** METRICS_PORT is reachable from other machines without a token. */
function isOpenToAll({ http: { host }, metrics: { port, token } }: Config): boolean {
  return port !== undefined && token === undefined && !isLoopback(host);
}

/** How soon an outage is in the log. */
const WATCH_MS = 5_000;

/** METRICS_PORT, if set, before anything else. Rejects if it cannot be opened. */
export async function openOps(config: Config, log: Pick<Logger, 'warn' | 'info'>): Promise<Ops> {
  const roles = rolesOf(config);
  const metrics = createMetrics(roles);
  const opened: OpenedSoFar = { isStarted: false, database: null, backend: null };
  const { port } = config.metrics;
  const readiness = () => readReadiness(roles, opened);
  metrics.process.watchReadiness(readiness);
  const outages = createOutageLog(log, config.storage, () => performance.now());
  let noting = Promise.resolve();
  const note = async () => outages.note(await readiness());
  const watching = setInterval(() => {
    noting = noting.then(note);
  }, WATCH_MS).unref();
  const api = createOpsApi(config, metrics, readiness);
  const { host } = config.http;
  if (isOpenToAll(config)) {
    log.warn({ host, port }, 'METRICS_PORT is reachable without a token: set METRICS_TOKEN');
  }
  const server =
    port === undefined ? null : await listenHttp(api, { host, port, variable: 'METRICS_PORT' });
  return {
    metrics,
    opened,
    readiness,
    port: server?.address.port ?? null,
    watch(service) {
      const { authorities, backend, database, queues } = service;
      metrics.process.watchPool(database.pool);
      if (!roles.includes('api')) return;
      metrics.watchInstallation({
        state: async () => {
          const [state, { counts }] = await Promise.all([
            readInstallation(database.prisma, directoriesOf(authorities)),
            loadFleet(service),
          ]);
          return { ...state, ...counts };
        },
        queues: async () => {
          const [counts, memory] = await Promise.all([countJobs(queues), backend.readMemory()]);
          return { counts, memory };
        },
      });
    },
    async endWatch() {
      clearInterval(watching);
      await noting;
    },
    async close(deadlineMs) {
      clearInterval(watching);
      metrics.close();
      await server?.close(deadlineMs);
    },
  };
}

async function countJobs(queues: Queues): Promise<Readonly<Record<string, QueueCounts>>> {
  const counted = queueNames.map(async (name) => [name, await queues.counts(name)] as const);
  return Object.fromEntries(await Promise.all(counted));
}

/** No keys or rate limits: the operator chose its address. Never rejects. */
function createOpsApi(
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
