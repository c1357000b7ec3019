/** What operators watch of a process, from its first moment on. */
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { queueNames } from '../core/operations/jobs.ts';
import type { Database } from '../db/engine/client.ts';
import { readInstallation } from '../db/installation.ts';
import { listen } from '../http/socket/server.ts';
import { createMetrics, type Metrics } from '../ops/metrics/metrics.ts';
import type { Role } from '../ops/metrics/process.ts';
import { type ReadReadiness, readReadiness } from '../ops/readiness.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { QueueCounts, Queues } from '../queue/queues.ts';
import { createOpsApi } from './operations-listener.ts';

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
  const isLoopback = host === 'localhost' || host === '::1' || /^127\./.test(host);
  return port !== undefined && token === undefined && !isLoopback;
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
