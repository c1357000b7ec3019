/** Requests to the API and for pages of the dashboard, and how long they took, by operation or page. */
import { Counter, Histogram, type Registry } from 'prom-client';

/** `operationId`: undefined where the request found no route. */
export type CountRequest = (
  operationId: string | undefined,
  status: number,
  seconds: number,
) => void;

export function createHttpMetrics(registry: Registry): CountRequest {
  const registers = [registry];
  const requests = new Counter({
    name: 'signpost_http_requests_total',
    help: 'Requests that were answered, by operation (none: no route was found; page: and the pattern of a page of the dashboard) and status',
    labelNames: ['operation', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'signpost_http_request_duration_seconds',
    help: 'From the headers of a request to its answer, before that is sent, by operation',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  return (operation = 'none', status, seconds) => {
    requests.inc({ operation, status });
    durations.observe({ operation }, seconds);
  };
}

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
