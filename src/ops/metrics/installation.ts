/** The whole installation's metrics, the same in every `api` process: use `max` in queries. */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { FleetCounts } from '../../core/operations/fleet.ts';
import type { InstallationState } from '../../db/installation.ts';
import { beforeDeadline } from '../../net/deadline.ts';
import { createSingleFlight } from '../../net/load-once.ts';
import type { QueueMemory } from '../../queue/backend.ts';
import type { QueueCounts } from '../../queue/queues.ts';

type QueueState = {
  readonly counts: Readonly<Record<string, QueueCounts>>;
  /** Null if the queue is not in Redis. */
  readonly memory: QueueMemory | null;
};

type StoredState = InstallationState & FleetCounts;

/** If one rejects, its metrics are not exported. */
export type ReadInstallation = {
  state(): Promise<StoredState>;
  queues(): Promise<QueueState>;
};

const FRESH_MS = 10_000;
/** Prometheus gives up after 10 s by default. */
const READ_MS = 4_000;

/** Refreshes at most every FRESH_MS. Never rejects. */
export function createInstallationMetrics(
  registry: Registry,
  read: ReadInstallation,
): () => Promise<void> {
  const readable = gauge(
    registry,
    'signpost_state_readable',
    '1 if the source of the metrics could be read, else 0; its metrics are then not exported',
    ['source'],
  );
  const showState = stateGauges(registry);
  const showQueues = queueGauges(registry);

  async function bring<T>(source: string, reading: Promise<T>, show: (value: T | null) => void) {
    const value = await beforeDeadline(
      READ_MS,
      reading.catch(() => null),
      null,
    );
    readable.set({ source }, value === null ? 0 : 1);
    show(value);
  }

  let freshUntil = 0;
  const share = createSingleFlight<void>();
  return async () => {
    if (performance.now() < freshUntil) return;
    await share('installation', async () => {
      await Promise.all([
        bring('database', read.state(), showState),
        bring('queue', read.queues(), showQueues),
      ]);
      freshUntil = performance.now() + FRESH_MS;
    });
  };
}

const labeled = [
  ['domains', 'signpost_domains', 'Attached domains, by status', 'status'],
  [
    'overdueSeconds',
    'signpost_overdue_seconds',
    'Delay of the most overdue job, by queue; 0 if none is overdue. A delivery counts from when it was queued',
    'queue',
  ],
  [
    'oldestSeconds',
    'signpost_oldest_wait_seconds',
    'Longest time that a domain has been in its current status, by status; 0 if there is none',
    'status',
  ],
  ['escalationsOpen', 'signpost_escalations_open', 'Open escalations, by cause', 'cause'],
  [
    'certificates',
    'signpost_certificates',
    'Served domains, by days until their certificate expires: 7 means 1 to less than 7 days',
    'days_left',
  ],
  ['quarantined', 'signpost_jobs_quarantined', 'Quarantined jobs, by queue', 'queue'],
  [
    'postgresConnections',
    'signpost_postgres_connections',
    'Connections of the database server: used, and max',
    'kind',
  ],
  ['processes', 'signpost_processes', 'Running processes of each needed role', 'role'],
  [
    'mismatches',
    'signpost_process_mismatches',
    'Processes whose configuration differs: refused, or running with an older one (differing)',
    'kind',
  ],
] as const satisfies readonly (readonly [keyof StoredState, string, string, string])[];

const single = [
  [
    'certificatesUnexpected',
    'signpost_certificates_unexpected',
    'Certificates issued within a day by a CA that is not configured',
  ],
  [
    'soonestEndSeconds',
    'signpost_certificate_soonest_end_seconds',
    'Time until the first certificate of a served domain expires; negative if expired, NaN if no domain is served',
  ],
  [
    'turnAgeSeconds',
    'signpost_reconciler_turn_age_seconds',
    'Time since the last run of the reconciler; grows if no worker runs, NaN before the first run',
  ],
] as const satisfies readonly (readonly [keyof StoredState, string, string])[];

function stateGauges(registry: Registry): (state: StoredState | null) => void {
  const shown = labeled.map(([key, name, help, label]) => {
    const metric = gauge(registry, name, help, [label]);
    return (state: StoredState | null) => {
      metric.reset();
      for (const [value, number] of Object.entries(state?.[key] ?? {})) {
        metric.set({ [label]: value }, number);
      }
    };
  });
  const alone = single.map(([key, name, help]) => {
    const metric = gauge(registry, name, help, []);
    return (state: StoredState | null) => metric.set(state?.[key] ?? Number.NaN);
  });
  const repairs = new Counter({
    name: 'signpost_repairs_total',
    help: 'Repairs by the reconciler, by kind',
    labelNames: ['kind'],
    registers: [registry],
  });
  const showRepairs = (state: StoredState | null) => {
    repairs.reset();
    for (const [kind, count] of Object.entries(state?.repairs ?? {})) repairs.inc({ kind }, count);
  };
  return (state) => {
    for (const show of [...shown, ...alone, showRepairs]) show(state);
  };
}

function queueGauges(registry: Registry): (state: QueueState | null) => void {
  const memory = gauge(
    registry,
    'signpost_redis_memory_bytes',
    'Memory of Redis: used, and max (maxmemory, or that of its machine)',
    ['kind'],
  );
  const jobs = gauge(
    registry,
    'signpost_queue_jobs',
    'Jobs, by queue and state; most delayed ones wait for their time',
    ['queue', 'state'],
  );
  const paused = gauge(
    registry,
    'signpost_queue_paused',
    '1 if the queue is paused, so that none of its jobs run, else 0',
    ['queue'],
  );
  return (state) => {
    memory.reset();
    for (const [kind, bytes] of Object.entries(state?.memory ?? {})) memory.set({ kind }, bytes);
    jobs.reset();
    paused.reset();
    for (const [queue, { isPaused, ...states }] of Object.entries(state?.counts ?? {})) {
      paused.set({ queue }, isPaused ? 1 : 0);
      for (const [state, count] of Object.entries(states)) jobs.set({ queue, state }, count);
    }
  };
}

function gauge(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
}
