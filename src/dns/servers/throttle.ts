/**
 * Between the lookups and the wire: what keeps our load on others' servers low. Large providers get questions about
 * thousands of domains at once, and small ones must not notice us at all.
 */
import { getDomain } from 'tldts';
import type { SocketAddress } from '../../config/config.ts';
import { type Budget, isSpent } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import { type Question, rcodes } from '../wire/message.ts';
import type { Wire } from '../wire/wire.ts';
import { type Circuits, createCircuits, type Outcome } from './circuit-breaker.ts';
import {
  createLine,
  createOperatorRates,
  type Line,
  type OperatorRates,
  type Rate,
} from './operator-rates.ts';
import type { Reachability } from './reachability.ts';

/** Whose server is asked about what, and what that may cost. */
export type ThrottledOptions = {
  readonly budget: Budget;
  /** The zone that the server is asked as a server of. */
  readonly zone: string;
  /** The name of the server, however many addresses it has. */
  readonly serverName: string;
  /** Whose server it is, see `operatorOf`. */
  readonly operator: string;
};

/** Asks authorities, and keeps to limits that all checks of the process share. */
export type Throttle = {
  /**
   * Asks through the wire as soon as it may: at most two questions at once to one address and port, and so many a second
   * to one operator, in order. `not_asked` where our own limits kept it from being sent in time. A server that has been
   * silent is a timeout at once for a while (circuit-breaker.ts). Rejects as the wire does.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options: ThrottledOptions,
  ) => Promise<WireAnswer>;
};

/** Limits and observers; each has a default below. */
export type ThrottleOptions = {
  /** Of questions; retries and TCP are not counted. Some dozens of checks a second at one provider's zones. Our choice. */
  readonly rate?: Rate;
  /** Silence shorter than this is not a server's fault: our budget ended. Our choice. */
  readonly patienceMs?: number;
  /** Gets a note of every question that was sent; while it is blocked, no silence counts against a server. */
  readonly reachability?: Pick<Reachability, 'note' | 'isBlocked'>;
  /** Called with the operator for every question that was handed to the wire. */
  readonly count?: CountQuestion;
  /** Milliseconds on a steady clock. */
  readonly now?: () => number;
};

/** Enough to go on while one answer is slow, and too few to be a burden to the smallest server. */
const AT_ONCE = 2;

const defaults = {
  rate: { perSecond: 200, burst: 200 },
  patienceMs: 1_000,
  reachability: { note: () => {}, isBlocked: () => false },
  count: () => {},
  now: () => performance.now(),
} as const;

const TIMEOUT: WireAnswer = { kind: 'timeout' };
const NOT_ASKED: WireAnswer = { kind: 'not_asked' };

/** Who sells the name decides, not who lends parts of it; an address stands for itself. */
const icannOnly = {
  allowPrivateDomains: false,
  extractHostname: false,
  validateHostname: false,
  detectIp: true,
} as const;

/** Returns the registrable domain of a name server's name, e.g. `cloudflare.com`; the name itself where it has none. */
export function operatorOf(serverName: string): string {
  return getDomain(serverName, icannOnly) ?? serverName;
}

/** Whether the server has sent anything, also what cannot be read or the beginning of an answer that never came. */
export function hasResponded(answer: WireAnswer): boolean {
  if (answer.kind === 'timeout') return answer.responded === true;
  return answer.kind !== 'not_asked';
}

/** What the functions below share. */
type State = Required<ThrottleOptions> & {
  readonly wire: Wire;
  readonly places: Places;
  readonly rates: OperatorRates;
  readonly circuits: Circuits;
};

/** One for the whole process, as a server does not care which of our checks asks. Sends nothing by itself. */
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
  // No operator's line is for one server alone.
  return within(places, `${operator} ${key}`, budget, async () => {
    if (!circuits.admits(key, zone)) return TIMEOUT;
    // Before the place at the server: who waits for one operator must not keep others' questions from the same address.
    if (!(await rates.take(operator, budget.deadline))) return NOT_ASKED;
    return within(places, key, budget, async () => {
      // While we waited, the others may have met silence.
      if (!circuits.admits(key, zone)) return TIMEOUT;
      if (isSpent(budget)) return NOT_ASKED;
      return send(state, key, question, server, options);
    });
  });
}

/** Does it in one of the places, as soon as there is one. */
async function within(
  places: Places,
  key: string,
  { deadline }: Budget,
  act: () => Promise<WireAnswer>,
): Promise<WireAnswer> {
  if (!(await places.enter(key, deadline))) return NOT_ASKED;
  try {
    return await act();
  } finally {
    places.leave(key);
  }
}

/** From here on the question is the server's to answer. */
async function send(
  { wire, circuits, reachability, patienceMs, count, now }: State,
  key: string,
  question: Question,
  server: SocketAddress,
  { budget, zone, serverName, operator }: ThrottledOptions,
): Promise<WireAnswer> {
  const sentAt = now();
  let outcome: Outcome = 'nothing';
  circuits.sent(key, zone);
  try {
    const answer = await wire.ask(question, server, { budget });
    count(operator, questionOutcome(answer));
    // It never left this host, so it says nothing of the server.
    if (answer.kind === 'not_asked') return answer;
    const answered = hasResponded(answer);
    const patient = now() - sentAt >= patienceMs;
    // A check whose budget ended has learnt nothing.
    if (answered || patient || !isSpent(budget)) reachability.note(serverName, answered);
    if (answered) outcome = 'answer';
    else if (patient && !reachability.isBlocked()) outcome = 'silence';
    return answer;
  } finally {
    circuits.ended(key, zone, outcome);
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

/** Every outcome that a question is counted under; metrics begin each of them at 0. */
export const questionOutcomes = ['answered', 'failed', 'timeout', 'not_sent'] as const;

/**
 * `failed`: SERVFAIL or REFUSED, which say nothing about the name. `timeout`: no answer came in time. `not_sent`: this
 * machine could not send it.
 */
export type QuestionOutcome = (typeof questionOutcomes)[number];

/**
 * Counts one question. `operator`: the registrable domain of a name server's name, or `recursive` for the resolvers that
 * the configuration names.
 */
export type CountQuestion = (operator: string, outcome: QuestionOutcome) => void;

/** Returns the outcome that an answer is counted under. One that our own budget cut off is a timeout, too. */
export function questionOutcome(answer: WireAnswer): QuestionOutcome {
  switch (answer.kind) {
    case 'not_asked':
      return 'not_sent';
    case 'timeout':
      return 'timeout';
    case 'malformed':
      return 'answered';
    case 'response':
      return failures.has(answer.message.rcode) ? 'failed' : 'answered';
  }
}

const failures: ReadonlySet<number> = new Set([rcodes.SERVFAIL, rcodes.REFUSED]);
