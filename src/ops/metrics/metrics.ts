/** Every metric of one process in a registry of its own; docs/operations.md lists them, and a test holds it to that. */
import { Registry } from 'prom-client';
import type { CountQuestion } from '../../dns/servers/throttle.ts';
import { createInstallationMetrics, type ReadInstallation } from './installation.ts';
import { createProcessMetrics, type ProcessMetrics, type Role } from './process.ts';
import {
  type CountRequest,
  createDnsMetrics,
  createEdgeMetrics,
  createHttpMetrics,
  type EdgeCounters,
} from './traffic.ts';
import { createWatchMetrics, type WatchReading } from './watch.ts';
import {
  type CountCheck,
  type CountJob,
  createCheckMetrics,
  createJobMetrics,
  createOrderMetrics,
  type OrderCounters,
} from './work.ts';

/** What a process counts. Every function may be called in any role; only those of its roles are shown. */
export type Metrics = {
  readonly request: CountRequest;
  readonly check: CountCheck;
  readonly question: CountQuestion;
  readonly job: CountJob;
  readonly order: OrderCounters;
  readonly edge: EdgeCounters;
  readonly process: ProcessMetrics;
  /** Shows this watch from then on. */
  watch(watch: WatchReading): void;
  /** Shows the state of the installation too, from then on. To be called once. */
  watchInstallation(read: ReadInstallation): void;
  /** Resolves with all of it in the text format of Prometheus. Never rejects for what cannot be read. */
  text(): Promise<string>;
  /** Ends the timer; what was counted is still shown. */
  close(): void;
};

/** The Content-Type of `Metrics.text`. */
export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** Builds the metrics of a process in a registry of its own. A process shows what its roles do, and nothing else. */
export function createMetrics(roles: readonly Role[]): Metrics {
  const registry = new Registry();
  const hidden = new Registry();
  const shownTo = (...players: readonly Role[]) =>
    players.some((role) => roles.includes(role)) ? registry : hidden;
  let refresh: () => Promise<void> = async () => {};
  const ofProcess = createProcessMetrics(registry, roles);
  return {
    request: createHttpMetrics(shownTo('api')),
    check: createCheckMetrics(shownTo('worker')),
    question: createDnsMetrics(shownTo('worker', 'api')),
    job: createJobMetrics(shownTo('worker')),
    order: createOrderMetrics(shownTo('worker')),
    edge: createEdgeMetrics(shownTo('edge')),
    process: ofProcess,
    watch: createWatchMetrics(shownTo('worker')),
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
