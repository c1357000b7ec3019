/**
 * Between the look-ups and the wire: what keeps us a good neighbour. Name servers of large providers hear us for
 * thousands of domains at once, and those of small ones must not notice us at all.
 */
import { getDomain } from 'tldts';
import type { SocketAddress } from '../config.ts';
import { type Budget, isSpent } from './budget.ts';
import { type Circuits, createCircuits, type Outcome } from './circuit-breaker.ts';
import { createLine, type Line } from './line.ts';
import { createOperatorRates, type OperatorRates, type Rate } from './operator-rates.ts';
import type { Reachability } from './reachability.ts';
import type { WireAnswer } from './wire/exchange.ts';
import type { Question } from './wire/message.ts';
import type { Wire } from './wire/wire.ts';

/** `not_asked`: our own limits kept the question from being sent in time. It says nothing about the server. */
export type ThrottledAnswer = WireAnswer | { readonly kind: 'not_asked' };

export type ThrottledOptions = {
  readonly budget: Budget;
  /** Whose server it is, see `operatorOf`. */
  readonly operator: string;
};

export type Throttle = {
  /**
   * Asks through the wire as soon as it may: at most two questions at once to one address and port, so many a second to
   * one operator, in order. A server that has been silent is a timeout at once for a while (circuit-breaker.ts).
   * Rejects as the wire does.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options: ThrottledOptions,
  ) => Promise<ThrottledAnswer>;
};

export type ThrottleOptions = {
  /** Of questions; retries and TCP are not counted. Some dozens of looks a second at one provider's zones. Our choice. */
  readonly rate?: Rate;
  /** Silence shorter than this is not a server's fault: our budget ended, or this host has no route. Our choice. */
  readonly patienceMs?: number;
  /** Is told of every question that was sent; and while it says "blocked", no silence counts against a server. */
  readonly reachability?: Pick<Reachability, 'note' | 'isBlocked'>;
  /** Milliseconds on a steady clock. */
  readonly now?: () => number;
};

/** Enough to go on while one answer is slow, and too few to be a burden to the smallest server. */
const AT_ONCE = 2;

const defaults = {
  rate: { perSecond: 200, burst: 200 },
  patienceMs: 1_000,
  reachability: { note: () => {}, isBlocked: () => false },
  now: () => performance.now(),
} as const;

const TIMEOUT: ThrottledAnswer = { kind: 'timeout' };
const NOT_ASKED: ThrottledAnswer = { kind: 'not_asked' };

/** Who sells the name decides, not who lends parts of it; an address stands for itself. */
const icannOnly = {
  allowPrivateDomains: false,
  extractHostname: false,
  validateHostname: false,
  detectIp: true,
} as const;

/** The registrable domain of a name server's name, e.g. `cloudflare.com`; the name itself where it has none. */
export function operatorOf(serverName: string): string {
  return getDomain(serverName, icannOnly) ?? serverName;
}

/** What the functions below share. */
type State = Required<ThrottleOptions> & {
  readonly wire: Wire;
  readonly places: Places;
  readonly rates: OperatorRates;
  readonly circuits: Circuits;
};

/** One for the whole process, as a server does not care which of our checks asks. */
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
  { budget, operator }: ThrottledOptions,
): Promise<ThrottledAnswer> {
  const { circuits, places, rates } = state;
  const key = `${server.address} ${server.port}`;
  if (isSpent(budget)) return NOT_ASKED;
  if (!circuits.admits(key)) return TIMEOUT;
  if (!(await places.enter(key, budget.deadline))) return NOT_ASKED;
  try {
    // While we waited, the others may have met silence.
    if (!circuits.admits(key)) return TIMEOUT;
    if (!(await rates.take(operator, budget.deadline)) || isSpent(budget)) return NOT_ASKED;
    if (!circuits.admits(key)) return TIMEOUT;
    return await send(state, key, question, server, budget);
  } finally {
    places.leave(key);
  }
}

/** From here on the question is the server's to answer. */
async function send(
  { wire, circuits, reachability, patienceMs, now }: State,
  key: string,
  question: Question,
  server: SocketAddress,
  budget: Budget,
): Promise<WireAnswer> {
  const sentAt = now();
  let outcome: Outcome = 'nothing';
  circuits.sent(key);
  try {
    const answer = await wire.ask(question, server, { budget });
    const answered = answer.kind !== 'timeout';
    const patient = now() - sentAt >= patienceMs;
    // A host that cannot send at all is blocked, too; one whose budget ended has learnt nothing.
    if (answered || patient || !isSpent(budget)) reachability.note(server.address, answered);
    if (answered) outcome = 'answer';
    else if (patient && !reachability.isBlocked()) outcome = 'silence';
    return answer;
  } finally {
    circuits.ended(key, outcome);
  }
}

/** Where questions are under way, and who waits there. */
type Places = {
  /** True when there is room; false where there was none before the deadline. */
  readonly enter: (key: string, deadline: number) => boolean | Promise<boolean>;
  /** Once for each time that `enter` gave true. */
  readonly leave: (key: string) => void;
};

/** A server takes memory only while it is asked. */
function createPlaces(): Places {
  const busy = new Map<string, { underWay: number; readonly line: Line }>();
  return {
    enter(key, deadline) {
      const place = busy.get(key);
      if (place === undefined) {
        busy.set(key, { underWay: 1, line: createLine() });
        return true;
      }
      // Where there is room nobody waits: whoever leaves calls the next one.
      if (place.underWay >= AT_ONCE) return place.line.join(deadline);
      place.underWay++;
      return true;
    },
    leave(key) {
      const place = busy.get(key);
      if (place === undefined || place.line.next()) return;
      place.underWay--;
      if (place.underWay === 0) busy.delete(key);
    },
  };
}
