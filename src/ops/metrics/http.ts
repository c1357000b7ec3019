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
