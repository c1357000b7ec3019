/** Limits the load on foreign name servers. */

import { LRUCache } from 'lru-cache';
import { getDomain } from 'tldts';
import type { SocketAddress } from '../../config/config.ts';
import { icannOnly } from '../../core/names/zone.ts';
import { MINUTE } from '../../core/time.ts';
import { createTokenBuckets, type TokenRate } from '../../net/token-buckets.ts';
import { isSpent, type QueryBudget } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { Question } from '../wire/message.ts';
import { NOT_ASKED, TIMEOUT } from '../wire/tries.ts';
import type { Wire } from '../wire/wire.ts';
import { createLine, type Line } from './line.ts';
import { type CountQuestion, questionOutcome } from './question-outcome.ts';
import type { Reachability } from './reachability.ts';

type ThrottledOptions = {
  readonly budget: QueryBudget;
  /** The zone that the server is queried for. */
  readonly zone: string;
  /** Regardless of the server's number of addresses. */
  readonly serverName: string;
  /** See `operatorOf`. */
  readonly operator: string;
};

/** Limits are shared by all checks of the process. */
export type Throttle = {
  /**
   * At most two queries at once per address and port, and a rate per operator; owners take turns.
   * `not_asked`: our limits prevented it in time. A repeatedly silent server is an immediate
   * timeout for a while. Rejects as the wire does.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options: ThrottledOptions,
  ) => Promise<WireAnswer>;
};

export type ThrottleOptions = {
  /** Queries, without retries and TCP. Allows dozens of checks per second at one provider. */
  readonly rate?: TokenRate;
  /** Shorter silence is not the server's fault: our budget ended. */
  readonly patienceMs?: number;
  /** While it is blocked, silence does not count against a server. */
  readonly reachability?: Pick<Reachability, 'note' | 'isBlocked'>;
  readonly count?: CountQuestion;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

const defaults = {
  rate: { perSecond: 200, burst: 200 },
  patienceMs: 1_000,
  reachability: { note: () => {}, isBlocked: () => false },
  count: () => {},
  now: () => performance.now(),
} as const;

/** `cloudflare.com`; an address or a name without a registrable domain stands for itself. */
export function operatorOf(serverName: string): string {
  return getDomain(serverName, { ...icannOnly, detectIp: true }) ?? serverName;
}

/** Includes malformed and partial answers. */
export function hasResponded(answer: WireAnswer): boolean {
  if (answer.kind === 'timeout') return answer.responded === true;
  return answer.kind !== 'not_asked';
}

type State = Required<ThrottleOptions> & {
  readonly wire: Wire;
  readonly places: Places;
  readonly rates: OperatorRates;
  readonly circuits: Circuits;
};

/** One per process: a server does not care which check queries it. Sends nothing until used. */
export function createThrottle(wire: Wire, given: ThrottleOptions = {}): Throttle {
  const options = { ...defaults, ...given };
  const state: State = {
    ...options,
    wire,
    places: createPlaces(),
    rates: createOperatorRates(options.rate, options.now),
    circuits: createCircuits(options.now),
  };
  return { ask: (question, server, how) => ask(state, question, server, how) };
}

async function ask(
  state: State,
  question: Question,
  server: SocketAddress,
  options: ThrottledOptions,
): Promise<WireAnswer> {
  const { circuits, places, rates } = state;
  const { budget, zone, operator } = options;
  const key = `${server.address} ${server.port}`;
  if (isSpent(budget)) return NOT_ASKED;
  if (!circuits.admits(key, zone)) return TIMEOUT;
  // The key includes the operator, so that queues of operators are separate.
  return inPlace(places, `${operator} ${key}`, budget, async () => {
    if (!circuits.admits(key, zone)) return TIMEOUT;
    // Before taking a slot at the server, so that waiting for one operator does not block others at
    // the same address.
    if (!(await rates.take(operator, budget))) return NOT_ASKED;
    return inPlace(places, key, budget, async () => {
      // The state can have changed while waiting.
      if (!circuits.admits(key, zone)) return TIMEOUT;
      if (isSpent(budget)) return NOT_ASKED;
      return send(state, key, question, server, options);
    });
  });
}

async function send(
  { wire, circuits, reachability, patienceMs, count, now }: State,
  key: string,
  question: Question,
  server: SocketAddress,
  { budget, zone, serverName, operator }: ThrottledOptions,
): Promise<WireAnswer> {
  const sentAt = now();
  let outcome: QueryOutcome = 'nothing';
  circuits.sent(key, zone);
  try {
    const answer = await wire.ask(question, server, { budget });
    count(operator, questionOutcome(answer));
    // It never left this host, so it says nothing about the server.
    if (answer.kind === 'not_asked') return answer;
    const answered = hasResponded(answer);
    const patient = now() - sentAt >= patienceMs;
    // A check whose budget ended learned nothing.
    if (answered || patient || !isSpent(budget)) reachability.note(serverName, answered);
    if (answered) outcome = 'answer';
    else if (patient && !reachability.isBlocked()) outcome = 'silence';
    return answer;
  } finally {
    circuits.ended(key, zone, outcome);
  }
}

// Rate limit per DNS operator over all of its servers.

type OperatorRates = {
  /** In turns of owners; false at the budget's deadline. A promise only if it has to wait. */
  readonly take: (operator: string, budget: Turn) => boolean | Promise<boolean>;
};

type Turn = Pick<QueryBudget, 'deadline' | 'owner'>;
type Waiting = { readonly line: Line; timer: NodeJS.Timeout | undefined };

/** `now`: monotonic milliseconds. */
function createOperatorRates(rate: TokenRate, now: () => number): OperatorRates {
  const buckets = createTokenBuckets(rate, now);
  const waiting = new Map<string, Waiting>();

  function serve(operator: string, queue: Waiting): void {
    queue.timer = undefined;
    while (!queue.line.isEmpty()) {
      const waitMs = buckets.take(operator);
      if (waitMs > 0) {
        queue.timer = setTimeout(() => serve(operator, queue), Math.ceil(waitMs));
        return;
      }
      queue.line.next();
    }
  }

  async function wait(operator: string, waitMs: number, budget: Turn): Promise<boolean> {
    const queue = waiting.get(operator) ?? { line: createLine(), timer: undefined };
    waiting.set(operator, queue);
    const turn = queue.line.join(budget.deadline, budget.owner);
    queue.timer ??= setTimeout(() => serve(operator, queue), Math.ceil(waitMs));
    const served = await turn;
    if (queue.line.isEmpty() && waiting.get(operator) === queue) {
      clearTimeout(queue.timer);
      waiting.delete(operator);
    }
    return served;
  }

  return {
    take(operator, budget) {
      if (waiting.has(operator)) return wait(operator, 0, budget);
      const waitMs = buckets.take(operator);
      return waitMs === 0 || wait(operator, waitMs, budget);
    },
  };
}

// At most two queries at once per address and port.

/** Keeps going while one answer is slow, without burdening a small server. */
const AT_ONCE = 2;

type Places = {
  /** False at the budget's deadline. */
  readonly enter: (key: string, budget: QueryBudget) => boolean | Promise<boolean>;
  /** Call it once for each time that `enter` returned true. */
  readonly leave: (key: string) => void;
};

/** `line`: created when the first caller has to wait. */
type Place = { underWay: number; line: Line | undefined };

/** A server uses memory only while it is queried. */
function createPlaces(): Places {
  const busy = new Map<string, Place>();
  return {
    enter(key, { deadline, owner }) {
      const place = busy.get(key);
      if (place === undefined) {
        busy.set(key, { underWay: 1, line: undefined });
        return true;
      }
      // A free slot implies an empty queue, because `leave` releases the next caller.
      if (place.underWay >= AT_ONCE) {
        place.line ??= createLine();
        return place.line.join(deadline, owner);
      }
      place.underWay++;
      return true;
    },
    leave(key) {
      const place = busy.get(key);
      if (place === undefined || place.line?.next()) return;
      place.underWay--;
      if (place.underWay === 0) busy.delete(key);
    },
  };
}

/** `not_asked` at the budget's deadline. */
async function inPlace(
  places: Places,
  key: string,
  budget: QueryBudget,
  act: () => Promise<WireAnswer>,
): Promise<WireAnswer> {
  if (!(await places.enter(key, budget))) return NOT_ASKED;
  try {
    return await act();
  } finally {
    places.leave(key);
  }
}

// Pauses a server after repeated silence, per zone and completely (RFC 9520, 2.3 and 3.2).

/**
 * `timeouts`: in a row. `open`: not queried before `until`. `probing`: one query is in progress.
 * Milliseconds on the caller's clock.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly timeouts: number }
  | { readonly kind: 'open'; readonly until: number; readonly openMs: number }
  | { readonly kind: 'probing'; readonly openMs: number };

/** `answer`: any, even a malformed one. `nothing`: our own limits stopped the query. */
export type QueryOutcome = 'answer' | 'silence' | 'nothing';

const circuitLimits = {
  /** Two datagrams each: with 10 % loss, all six are lost once in a million. */
  timeouts: 3,
  /** Short enough for a customer who is watching. */
  openMs: 30_000,
  /** Failures "MUST NOT be cached for longer than 5 minutes" (RFC 9520, 3.2). */
  openMsMax: 5 * MINUTE,
} as const;

export const closed: Circuit = { kind: 'closed', timeouts: 0 };

/** `now`: monotonic milliseconds. */
export function admits(circuit: Circuit, now: number): boolean {
  return circuit.kind === 'closed' || (circuit.kind === 'open' && now >= circuit.until);
}

/** After a pause, only one probe runs at a time. */
export function afterSending(circuit: Circuit): Circuit {
  return circuit.kind === 'open' ? { kind: 'probing', openMs: circuit.openMs } : circuit;
}

/** Each pause is twice as long as the previous one, up to 5 minutes, until an answer arrives. */
export function afterOutcome(circuit: Circuit, outcome: QueryOutcome, now: number): Circuit {
  if (outcome === 'answer') return closed;
  // From a query sent before the pause.
  if (circuit.kind === 'open') return circuit;
  if (outcome === 'nothing') {
    // The next query is the probe.
    return circuit.kind === 'probing' ? openUntil(now, circuit.openMs) : circuit;
  }
  if (circuit.kind === 'probing') return openFor(2 * circuit.openMs, now);
  const timeouts = circuit.timeouts + 1;
  return timeouts < circuitLimits.timeouts
    ? { kind: 'closed', timeouts }
    : openFor(circuitLimits.openMs, now);
}

/** `server`: any key that identifies one. */
type Circuits = {
  /** Changes nothing. */
  readonly admits: (server: string, zone: string) => boolean;
  /** Call it when an admitted query is sent, and `ended` once for each. */
  readonly sent: (server: string, zone: string) => void;
  readonly ended: (server: string, zone: string, outcome: QueryOutcome) => void;
};

/** Bounds memory under zones with many dead servers. */
const CIRCUITS_MAX = 10_000;
/** No host name is longer; for escaped names, the end suffices. */
const ZONE_CHARS = 255;

/** The server's own circuit counts zones (`zones`); the circuit of a zone counts queries. */
type CircuitTrouble = { readonly circuit: Circuit; readonly zones: readonly string[] };

/** Stores only silent servers. `now`: milliseconds. */
export function createCircuits(now: () => number): Circuits {
  const zones = new LRUCache<string, Circuit>({ max: CIRCUITS_MAX });
  const servers = new LRUCache<string, CircuitTrouble>({ max: CIRCUITS_MAX });

  function putZone(key: string, circuit: Circuit): void {
    if (isWell(circuit)) zones.delete(key);
    else zones.set(key, circuit);
  }

  function endedAt(server: string, zone: string, outcome: QueryOutcome): void {
    const { circuit, zones: silent } = servers.get(server) ?? { circuit: closed, zones: [] };
    const after = afterOutcome(circuit, outcome, now());
    if (isWell(after)) servers.delete(server);
    else if (circuit.kind !== 'closed') servers.set(server, { circuit: after, zones: silent });
    else if (outcome === 'silence' && !silent.includes(zone)) {
      servers.set(server, { circuit: after, zones: [...silent, zone] });
    }
  }

  return {
    admits: (server, zone) =>
      admits(servers.get(server)?.circuit ?? closed, now()) &&
      admits(zones.get(keyOf(server, zone)) ?? closed, now()),
    sent(server, zone) {
      const key = keyOf(server, zone);
      const [trouble, circuit] = [servers.get(server), zones.get(key)];
      if (trouble) servers.set(server, { ...trouble, circuit: afterSending(trouble.circuit) });
      if (circuit) zones.set(key, afterSending(circuit));
    },
    ended(server, zone, outcome) {
      const key = keyOf(server, zone);
      putZone(key, afterOutcome(zones.get(key) ?? closed, outcome, now()));
      endedAt(server, zone.slice(-ZONE_CHARS), outcome);
    },
  };
}

function keyOf(server: string, zone: string): string {
  return `${server} ${zone.slice(-ZONE_CHARS)}`;
}

function isWell(circuit: Circuit): boolean {
  return circuit.kind === 'closed' && circuit.timeouts === 0;
}

function openFor(openMs: number, now: number): Circuit {
  const bounded = Math.min(openMs, circuitLimits.openMsMax);
  return openUntil(now + bounded, bounded);
}

function openUntil(until: number, openMs: number): Circuit {
  return { kind: 'open', until, openMs };
}
