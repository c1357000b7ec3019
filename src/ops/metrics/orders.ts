/** Orders at the certificate authority, by how a step of them ended. */
import { Counter, Histogram, type Registry } from 'prom-client';

export type OrderCounters = {
  /** `waitedSeconds`: since the DNS was right, for a domain that waited for its certificate; null for a renewal. */
  issued(waitedSeconds: number | null): void;
  refused(): void;
  /** The authority could not be asked, or had not finished: the order stays open. */
  setBack(): void;
};

export function createOrderMetrics(registry: Registry): OrderCounters {
  const registers = [registry];
  const orders = new Counter({
    name: 'signpost_certificate_orders_total',
    help: 'Orders by outcome: issued and refused end an order, set_back leaves it open for another try',
    labelNames: ['outcome'],
    registers,
  });
  const waits = new Histogram({
    name: 'signpost_certificate_wait_seconds',
    help: 'For each domain that waited for its certificate, the time from the check that verified it to the stored certificate',
    buckets: [1, 5, 15, 60, 300, 1_800, 7_200, 86_400],
    registers,
  });
  for (const outcome of ['issued', 'refused', 'set_back']) orders.inc({ outcome }, 0);
  return {
    issued(waitedSeconds) {
      orders.inc({ outcome: 'issued' });
      if (waitedSeconds !== null) waits.observe(waitedSeconds);
    },
    refused: () => orders.inc({ outcome: 'refused' }),
    setBack: () => orders.inc({ outcome: 'set_back' }),
  };
}
