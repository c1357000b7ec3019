/** Requests to the API and for pages of the dashboard, and how long they took, by operation or page. */

import { LRUCache } from 'lru-cache';
import { Counter, Histogram, type Registry } from 'prom-client';
import { type CountQuestion, questionOutcomes } from '../../dns/servers/throttle.ts';

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

/** Our choice: the large operators of the world, and not every server that a customer runs at home. */
const places = { operators: 30, askedBefore: 100 } as const;
const REMEMBERED_MAX = 10_000;

export function createDnsMetrics(registry: Registry): CountQuestion {
  const questions = new Counter({
    name: 'signpost_dns_questions_total',
    help: 'Questions sent to name servers, by operator (the 30 that were the first to be asked 100 questions, the others together as other) and outcome',
    labelNames: ['operator', 'outcome'],
    registers: [registry],
  });
  const named = createNamedOperators(places);
  for (const outcome of questionOutcomes) {
    questions.inc({ operator: 'recursive', outcome }, 0);
    questions.inc({ operator: 'other', outcome }, 0);
  }
  return (operator, outcome) => questions.inc({ operator: named(operator), outcome });
}

/**
 * Which operators have a series of their own: whoever is asked `askedBefore` questions while there is a place. A place is
 * kept, because a counter that fell would look like a restart.
 */
export function createNamedOperators({
  operators,
  askedBefore,
}: {
  readonly operators: number;
  readonly askedBefore: number;
}): (operator: string) => string {
  const named = new Set<string>(['recursive']);
  const asked = new LRUCache<string, number>({ max: REMEMBERED_MAX });
  return (operator) => {
    if (named.has(operator)) return operator;
    if (named.size > operators) return 'other';
    const times = (asked.get(operator) ?? 0) + 1;
    asked.set(operator, times);
    if (times <= askedBefore) return 'other';
    named.add(operator);
    asked.delete(operator);
    return operator;
  };
}
