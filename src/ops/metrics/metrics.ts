/** docs/run/monitoring.md lists all metrics, checked by a test. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { buildVersion } from '../../config/root-folder.ts';
import type { Role } from '../../core/operations/roles.ts';
import { thresholds } from '../../core/operations/thresholds.ts';
import { MINUTE } from '../../core/time.ts';
import type { CountQuestion } from '../../dns/servers/question-outcome.ts';
import { isReady, type ReadReadiness } from '../readiness.ts';
import { createInstallationMetrics, type ReadInstallation } from './installation.ts';
import {
  type CountRequest,
  createDnsMetrics,
  createEdgeMetrics,
  createHttpMetrics,
  type EdgeCounters,
} from './traffic.ts';
import {
  type CountCheck,
  type CountJob,
  createCheckMetrics,
  createJobMetrics,
  createOrderMetrics,
  type OrderCounters,
} from './work.ts';

/** Only the metrics of the process's roles are exported; any role can call these. */
export type Metrics = {
  readonly request: CountRequest;
  readonly check: CountCheck;
  /** Of a worker, by its last checks. */
  areResolversFailing(): boolean;
  readonly question: CountQuestion;
  readonly job: CountJob;
  readonly order: OrderCounters;
  readonly edge: EdgeCounters;
  readonly process: ProcessMetrics;
  /** Call it once. */
  watchInstallation(read: ReadInstallation): void;
  /** Prometheus text format. Leaves out unreadable metrics; does not reject. */
  text(): Promise<string>;
  /** Counted values are still exported. */
  close(): void;
};

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export function createMetrics(roles: readonly Role[]): Metrics {
  const registry = new Registry();
  const hidden = new Registry();
  const shownTo = (...players: readonly Role[]) =>
    players.some((role) => roles.includes(role)) ? registry : hidden;
  let refresh: () => Promise<void> = async () => {};
  const ofProcess = createProcessMetrics(registry, roles);
  const countCheck = createCheckMetrics(shownTo('worker'));
  const resolvers = createResolverHealth(shownTo('worker'));
  return {
    request: createHttpMetrics(shownTo('api')),
    check(counted) {
      countCheck(counted);
      resolvers.note(counted.isOurTrouble);
    },
    areResolversFailing: resolvers.isFailing,
    question: createDnsMetrics(shownTo('worker', 'api')),
    job: createJobMetrics(shownTo('worker')),
    order: createOrderMetrics(shownTo('worker')),
    edge: createEdgeMetrics(shownTo('edge')),
    process: ofProcess,
    watchInstallation(read) {
      refresh = createInstallationMetrics(registry, read);
    },
    async text() {
      await refresh();
      return registry.metrics();
    },
    close: () => ofProcess.close(),
  };
}

/** Of a `pg` pool. */
type PoolState = {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
};

/** Of the event loop. */
const LOOP_EVERY_MS = 100;

/** The timer does not keep the process alive. */
export function createProcessMetrics(registry: Registry, roles: readonly Role[]) {
  const registers = [registry];
  const playing = new Gauge({
    name: 'signpost_role',
    help: '1 for each role of this process',
    labelNames: ['role'],
    registers,
  });
  for (const role of roles) playing.set({ role }, 1);
  new Gauge({
    name: 'signpost_build_info',
    help: '1, with the version of the program (and its commit) and of Node.js',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: buildVersion(), node: process.version }, 1);
  createUsage(registry);
  const waits = new Histogram({
    name: 'signpost_database_pool_wait_seconds',
    help: 'Time that a statement waited for a PostgreSQL connection',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 5],
    registers,
  });
  return {
    poolWait: (seconds: number) => waits.observe(seconds),
    /** Call it once. */
    watchPool: (pool: PoolState) => showPool(registry, pool),
    /** Call it once. */
    watchReadiness: (read: ReadReadiness) => showReadiness(registry, read),
    close: watchLoop(registry),
  };
}

type ProcessMetrics = ReturnType<typeof createProcessMetrics>;

/** Asked at each scrape. `process`: as /readyz answers. */
function showReadiness(registry: Registry, read: ReadReadiness): void {
  new Gauge({
    name: 'signpost_ready',
    help: '1 for each dependency of this process that answers, and for the process if /readyz is 200',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const { status, dependencies } = await read();
      this.reset();
      this.set({ dependency: 'process' }, isReady(status) ? 1 : 0);
      for (const [dependency, state] of Object.entries(dependencies)) {
        this.set({ dependency }, state === 'up' ? 1 : 0);
      }
    },
  });
}

function createUsage(registry: Registry): void {
  const registers = [registry];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time used by the process',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory used by the process',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since the epoch',
    registers,
  }).set(Math.round(performance.timeOrigin / 1_000));
}

/** Registered once there is a pool, because some processes have none. */
function showPool(registry: Registry, pool: PoolState): void {
  new Gauge({
    name: 'signpost_database_connections',
    help: 'PostgreSQL connections of the pool, by state; waiting: statements waiting for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
}

/** A loop that is blocked longer than the timer results in a single sample. */
function watchLoop(registry: Registry): () => void {
  const delays = new Histogram({
    name: 'signpost_event_loop_delay_seconds',
    help: 'Delay of a 100 ms timer',
    buckets: [0.002, 0.01, 0.05, 0.2, 1, 5],
    registers: [registry],
  });
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    delays.observe(Math.max(0, now - last - LOOP_EVERY_MS) / 1_000);
    last = now;
  }, LOOP_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

// Whether this worker's own resolvers and network answer, by its last checks.

const KEPT = 20;
const KEPT_MS = 2 * MINUTE;
/** Fewer say nothing. */
const CHECKS_MIN = 3;

export function createResolverHealth(
  registry: Registry,
  now: () => number = () => performance.now(),
) {
  const checks: { readonly at: number; readonly isOurTrouble: boolean }[] = [];
  function isFailing(): boolean {
    const recent = checks.filter(({ at }) => now() - at < KEPT_MS);
    const failed = recent.filter(({ isOurTrouble }) => isOurTrouble).length;
    return recent.length >= CHECKS_MIN && failed > recent.length * thresholds.unknownShare;
  }
  new Gauge({
    name: 'signpost_resolvers_failing',
    help: '1 if most recent checks of this worker failed because of its own resolvers or network, else 0',
    registers: [registry],
    collect() {
      this.set(isFailing() ? 1 : 0);
    },
  });
  return {
    /** `isOurTrouble`: the check got no usable answer, and the cause is ours. */
    note(isOurTrouble: boolean): void {
      checks.push({ at: now(), isOurTrouble });
      if (checks.length > KEPT) checks.shift();
    },
    isFailing,
  };
}
