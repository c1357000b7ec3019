/** docs/run/monitoring.md lists all metrics, checked by a test. */
import { Registry } from 'prom-client';
import type { Role } from '../../core/operations/roles.ts';
import type { CountQuestion } from '../../dns/servers/question-outcome.ts';
import { createInstallationMetrics, type ReadInstallation } from './installation.ts';
import { createProcessMetrics, type ProcessMetrics } from './process.ts';
import { createResolverHealth } from './resolver-health.ts';
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
