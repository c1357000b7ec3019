/** Limits the load on foreign name servers. */

import { getDomain } from 'tldts';
import type { SocketAddress } from '../../config/config.ts';
import { icannOnly } from '../../core/names/zone.ts';
import type { TokenRate } from '../../net/token-buckets.ts';
import { isSpent, type QueryBudget } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { Question } from '../wire/message.ts';
import { NOT_ASKED, TIMEOUT } from '../wire/tries.ts';
import type { Wire } from '../wire/wire.ts';
import { type Circuits, createCircuits, type QueryOutcome } from './circuit-breaker.ts';
import { createOperatorRates, type OperatorRates } from './operator-rates.ts';
import { createPlaces, inPlace, type Places } from './places.ts';
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
