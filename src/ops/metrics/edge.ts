/** What the edge answered its visitors, and whether their handshakes came to an end. */
import { Counter, type Registry } from 'prom-client';

export type EdgeCounters = {
  /** An answer that was begun on one of the two ports. */
  request(port: 'http' | 'https', status: number): void;
  handshake(outcome: 'completed' | 'failed'): void;
};

/** For an edge that nobody counts. */
export const uncounted: EdgeCounters = { request() {}, handshake() {} };

export function createEdgeMetrics(registry: Registry): EdgeCounters {
  const registers = [registry];
  const requests = new Counter({
    name: 'signpost_edge_requests_total',
    help: 'Requests of visitors that the edge answered, by port and class of status',
    labelNames: ['port', 'status'],
    registers,
  });
  const handshakes = new Counter({
    name: 'signpost_edge_handshakes_total',
    help: 'TLS handshakes, by outcome; one for a name without a certificate fails',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['completed', 'failed'] as const) handshakes.inc({ outcome }, 0);
  return {
    // A deploy may answer with any status: by class, so that nobody else makes our series.
    request: (port, status) => requests.inc({ port, status: `${Math.floor(status / 100)}xx` }),
    handshake: (outcome) => handshakes.inc({ outcome }),
  };
}
