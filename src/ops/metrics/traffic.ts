import { LRUCache } from 'lru-cache';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type CountQuestion, questionOutcomes } from '../../dns/servers/question-outcome.ts';

/** `operationId`: undefined if no route was found. */
export type CountRequest = (
  operationId: string | undefined,
  status: number,
  seconds: number,
) => void;

export function createHttpMetrics(registry: Registry): CountRequest {
  const registers = [registry];
  const requests = new Counter({
    name: 'signpost_http_requests_total',
    help: 'Answered requests, by status and operation (none: no route; page: and the path pattern: a dashboard page)',
    labelNames: ['operation', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'signpost_http_request_duration_seconds',
    help: 'Time from the headers of a request to its response, before sending, by operation',
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
  /** A response was started on one of the two ports. */
  request(port: 'http' | 'https', status: number): void;
  handshake(outcome: 'completed' | 'failed'): void;
  /** A limit refused or cut off a connection or request. */
  refused(limit: EdgeLimit): void;
  /** Running requests to deploys: 1 when one starts, -1 when it ends. */
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
 * `project` and `total` count running requests, `held_bytes` connections of slow readers,
 * `gateway_secret` requests to the gateway without Caddy's secret.
 */
type EdgeLimit = (typeof edgeLimits)[number];

export const uncounted: EdgeCounters = {
  request() {},
  handshake() {},
  refused() {},
  underWay() {},
};

/** Every outcome starts at 0. */
export function createEdgeMetrics(registry: Registry): EdgeCounters {
  const registers = [registry];
  const requests = new Counter({
    name: 'signpost_edge_requests_total',
    help: 'Visitor requests answered by the edge, by port and status class',
    labelNames: ['port', 'status'],
    registers,
  });
  const handshakes = new Counter({
    name: 'signpost_edge_handshakes_total',
    help: 'TLS handshakes, by outcome; handshakes for names without a certificate fail',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['completed', 'failed'] as const) handshakes.inc({ outcome }, 0);
  const refusals = new Counter({
    name: 'signpost_edge_refused_total',
    help: 'Refused or cut off by a limit of the edge: connections, handshakes, requests per project, requests in total, responses to slow readers (held_bytes), requests without Caddy’s secret (gateway_secret)',
    labelNames: ['limit'],
    registers,
  });
  for (const limit of edgeLimits) refusals.inc({ limit }, 0);
  const underWay = new Gauge({
    name: 'signpost_edge_requests_in_flight',
    help: 'Running requests to deploys, including open WebSockets',
    registers,
  });
  return {
    refused: (limit) => refusals.inc({ limit }),
    underWay: (change) => underWay.inc(change),
    // Only the status class, so that deploys cannot create arbitrary series.
    request: (port, status) => requests.inc({ port, status: `${Math.floor(status / 100)}xx` }),
    handshake: (outcome) => handshakes.inc({ outcome }),
  };
}

/** Enough for the world's large operators, without a series for every small server. */
const places = { operators: 30, askedBefore: 100 } as const;
/** Operators without a series whose queries are counted. */
const REMEMBERED_MAX = 10_000;

/** By operator as in `createNamedOperators`. */
export function createDnsMetrics(registry: Registry): CountQuestion {
  const questions = new Counter({
    name: 'signpost_dns_questions_total',
    help: 'DNS queries, by outcome (failed: SERVFAIL or REFUSED) and operator: the registrable domain of the name server for the first 30 with 100 queries, else other; resolvers are recursive',
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
 * An operator gets a series after more than `askedBefore` queries while a place is free, and keeps
 * it, because a falling counter would look like a restart. Others are `other`. `recursive` always
 * has a series.
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
