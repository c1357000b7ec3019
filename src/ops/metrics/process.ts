/** The process itself: its roles, processor, memory, event loop and database connections. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** What a process does; one may play several roles. */
export type Role = 'api' | 'worker' | 'edge';

/** What is read of a pool of `pg`: numbers of connections, and of statements that wait for one. */
export type PoolState = {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
};

/** What is counted of a process. */
export type ProcessMetrics = {
  /** A connection of the database's pool was waited for. */
  poolWait(seconds: number): void;
  /** Shows the connections of this pool; none before. To be called once. */
  watchPool(pool: PoolState): void;
  /** Ends the timer that watches the event loop. */
  close(): void;
};

/** How often the event loop is measured. */
const LOOP_EVERY_MS = 100;

/**
 * Registers the metrics of the process, and starts the timer that watches the event loop. The timer keeps no process
 * alive.
 */
export function createProcessMetrics(registry: Registry, roles: readonly Role[]): ProcessMetrics {
  const registers = [registry];
  const playing = new Gauge({
    name: 'signpost_role',
    help: '1 for each role that this process plays',
    labelNames: ['role'],
    registers,
  });
  for (const role of roles) playing.set({ role }, 1);
  createUsage(registry);
  const waits = new Histogram({
    name: 'signpost_database_pool_wait_seconds',
    help: 'How long a statement waited for a connection of the pool to PostgreSQL',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 5],
    registers,
  });
  return {
    poolWait: (seconds) => waits.observe(seconds),
    watchPool: (pool) => showPool(registry, pool),
    close: watchLoop(registry),
  };
}

function createUsage(registry: Registry): void {
  const registers = [registry];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time that the process has used',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that the process holds',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started, since the epoch',
    registers,
  }).set(Math.round(performance.timeOrigin / 1_000));
}

/** Registered once there is a pool: a process that has none says nothing of it. */
function showPool(registry: Registry, pool: PoolState): void {
  new Gauge({
    name: 'signpost_database_connections',
    help: 'Connections of the pool to PostgreSQL, by state; waiting: statements that wait for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'waiting' }, pool.waitingCount);
    },
  });
}

/** Measures how late a timer of 100 ms comes; a loop that stands longer than that gives one sample for all of it. */
function watchLoop(registry: Registry): () => void {
  const delays = new Histogram({
    name: 'signpost_event_loop_delay_seconds',
    help: 'How late a timer of 100 ms came',
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
