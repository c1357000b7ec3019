/**
 * The state of the installation, which every process with the role `api` shows alike: rules take the `max`. Read when it is
 * asked for, at most every ten seconds however many ask.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { InstallationState } from '../../db/installation.ts';
import type { QueueCounts } from '../../queue/queues.ts';

/** Reads what is shown. Either may reject: its metrics are then not shown. */
export type ReadInstallation = {
  state(): Promise<InstallationState>;
  queues(): Promise<Readonly<Record<string, QueueCounts>>>;
};

const FRESH_MS = 10_000;
/** A scrape waits this long for either at most; Prometheus gives up after 10 s by default. */
const READ_MS = 4_000;

/**
 * Registers the gauges and returns what brings them up to date, at most every ten seconds; calls at the same time share
 * one reading. It never rejects.
 */
export function createInstallationMetrics(
  registry: Registry,
  read: ReadInstallation,
): () => Promise<void> {
  const readable = gauge(
    registry,
    'signpost_state_readable',
    '1 where what it stands in could be read for the metrics about it, else 0: then these are not shown',
    ['source'],
  );
  const showState = stateGauges(registry);
  const showQueues = queueGauges(registry);

  async function bring<T>(source: string, reading: Promise<T>, show: (value: T | null) => void) {
    const value = await within(reading);
    readable.set({ source }, value === null ? 0 : 1);
    show(value);
  }

  let freshUntil = 0;
  let underWay: Promise<void> | null = null;
  return async () => {
    if (performance.now() < freshUntil) return;
    underWay ??= Promise.all([
      bring('database', read.state(), showState),
      bring('queue', read.queues(), showQueues),
    ])
      .then(() => {
        freshUntil = performance.now() + FRESH_MS;
      })
      .finally(() => {
        underWay = null;
      });
    await underWay;
  };
}

/** What is shown by one label, and under which name the state has it. */
const labelled = [
  ['domains', 'signpost_domains', 'Domains that are attached, by state', 'status'],
  [
    'overdueSeconds',
    'signpost_overdue_seconds',
    'How late what is longest overdue is, by queue; 0 where nothing is',
    'queue',
  ],
  [
    'oldestSeconds',
    'signpost_oldest_wait_seconds',
    'How long the domain that has been in the state for longest has been in it; 0 where none is',
    'status',
  ],
  ['escalationsOpen', 'signpost_escalations_open', 'Open escalations, by cause', 'cause'],
  [
    'certificates',
    'signpost_certificates',
    'Domains that are served, by the days that their certificate has left: 7 is less than 7, and 1 or more',
    'days_left',
  ],
  ['setAside', 'signpost_jobs_set_aside', 'Jobs that are set aside now, by queue', 'queue'],
] as const satisfies readonly (readonly [keyof InstallationState, string, string, string])[];

const single = [
  [
    'soonestEndSeconds',
    'signpost_certificate_soonest_end_seconds',
    'Until the first certificate of a served domain ends; below 0 when it has ended, NaN where none is served',
  ],
  [
    'turnAgeSeconds',
    'signpost_reconciler_turn_age_seconds',
    "Since a worker took the reconciler's last turn: nobody takes one where no worker runs; NaN before the first",
  ],
] as const satisfies readonly (readonly [keyof InstallationState, string, string])[];

function stateGauges(registry: Registry): (state: InstallationState | null) => void {
  const shown = labelled.map(([key, name, help, label]) => {
    const metric = gauge(registry, name, help, [label]);
    return (state: InstallationState | null) => {
      metric.reset();
      for (const [value, number] of Object.entries(state?.[key] ?? {})) {
        metric.set({ [label]: value }, number);
      }
    };
  });
  const alone = single.map(([key, name, help]) => {
    const metric = gauge(registry, name, help, []);
    return (state: InstallationState | null) => metric.set(state?.[key] ?? Number.NaN);
  });
  const repairs = new Counter({
    name: 'signpost_repairs_total',
    help: 'What the reconciler had to put right, by kind',
    labelNames: ['kind'],
    registers: [registry],
  });
  const showRepairs = (state: InstallationState | null) => {
    repairs.reset();
    for (const [kind, count] of Object.entries(state?.repairs ?? {})) repairs.inc({ kind }, count);
  };
  return (state) => {
    for (const show of [...shown, ...alone, showRepairs]) show(state);
  };
}

function queueGauges(
  registry: Registry,
): (counts: Readonly<Record<string, QueueCounts>> | null) => void {
  const jobs = gauge(registry, 'signpost_queue_jobs', 'Jobs in the queue, by queue and state', [
    'queue',
    'state',
  ]);
  const paused = gauge(
    registry,
    'signpost_queue_paused',
    '1 where somebody has paused the queue, so that nothing in it runs, else 0',
    ['queue'],
  );
  return (counts) => {
    jobs.reset();
    paused.reset();
    for (const [queue, { isPaused, ...states }] of Object.entries(counts ?? {})) {
      paused.set({ queue }, isPaused ? 1 : 0);
      for (const [state, count] of Object.entries(states)) jobs.set({ queue, state }, count);
    }
  };
}

function gauge(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
}

/** Null where it fails, or takes too long. */
async function within<T>(reading: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), READ_MS);
  });
  try {
    return await Promise.race([reading.catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}
