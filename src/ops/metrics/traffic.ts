/** Requests to the API and for pages of the dashboard, and how long they took, by operation or page. */

import { LRUCache } from 'lru-cache';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type CountQuestion, questionOutcomes } from '../../dns/servers/throttle.ts';

/** Counts one answered request. `operationId`: undefined where it found no route. */
export type CountRequest = (
  operationId: string | undefined,
  status: number,
  seconds: number,
) => void;

/** Registers the metrics of requests and returns what counts them. */
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

/** Counts what visitors do at the edge. */
export type EdgeCounters = {
  /** An answer that was begun on one of the two ports. */
  request(port: 'http' | 'https', status: number): void;
  /** A TLS handshake that came to its end. */
  handshake(outcome: 'completed' | 'failed'): void;
  /** What was turned away because a limit was reached, or cut off for it. */
  refused(limit: EdgeLimit): void;
  /** Requests that reach a deploy: 1 for one that begins, -1 for one that is over. */
  underWay(change: 1 | -1): void;
};

const edgeLimits = [
  'connections',
  'handshakes',
  'project',
  'total',
  'held_bytes',
  'gateway_secret',
] as const;

/**
 * `project` and `total` are requests under way, `held_bytes` what waits for slow readers, `gateway_secret` what came to the
 * gateway without Caddy's secret.
 */
export type EdgeLimit = (typeof edgeLimits)[number];

/** For an edge that nobody counts: it does nothing. */
export const uncounted: EdgeCounters = {
  request() {},
  handshake() {},
  refused() {},
  underWay() {},
};

/** Registers the metrics of the edge and returns what counts for them. Every outcome begins at 0. */
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
  const refusals = new Counter({
    name: 'signpost_edge_refused_total',
    help: 'What a limit of the edge turned away or cut off: connections, handshakes, requests of a project, requests in total, answers that wait for slow readers (held_bytes), what came without the secret of Caddy (gateway_secret)',
    labelNames: ['limit'],
    registers,
  });
  for (const limit of edgeLimits) refusals.inc({ limit }, 0);
  const underWay = new Gauge({
    name: 'signpost_edge_requests_in_flight',
    help: 'Requests under way to deploys, open WebSockets among them',
    registers,
  });
  return {
    refused: (limit) => refusals.inc({ limit }),
    underWay: (change) => underWay.inc(change),
    // A deploy may answer with any status: by class, so that nobody else makes our series.
    request: (port, status) => requests.inc({ port, status: `${Math.floor(status / 100)}xx` }),
    handshake: (outcome) => handshakes.inc({ outcome }),
  };
}

/** Our choice: the large operators of the world, and not every server that a customer runs at home. */
const places = { operators: 30, askedBefore: 100 } as const;
/** How many operators without a series are remembered with their questions. */
const REMEMBERED_MAX = 10_000;

/** Registers the metric of DNS questions and returns what counts them, by operator as `createNamedOperators` names it. */
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
 * Returns the function that names the series of an operator: its own, or `other`. An operator gets one once it was asked
 * more than `askedBefore` questions, while one of `operators` places is free, and keeps it, because a counter that fell
 * would look like a restart. `recursive` always has one.
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
