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
import {
  type CountCheck,
  type CountJob,
  createCheckMetrics,
  createJobMetrics,
  createOrderMetrics,
  type OrderCounters,
} from './work.ts';

export type Metrics = {
  readonly request: CountRequest;
  readonly check: CountCheck;
  readonly question: CountQuestion;
  readonly job: CountJob;
  readonly order: OrderCounters;
  readonly edge: EdgeCounters;
  readonly process: ProcessMetrics;
  /** Has the state of the installation shown too, from then on. */
  watchInstallation(read: ReadInstallation): void;
  /** In Prometheus' text format. Never rejects for what cannot be read. */
  text(): Promise<string>;
  close(): void;
};

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** A process shows what its roles do, and nothing that they do not. */
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
