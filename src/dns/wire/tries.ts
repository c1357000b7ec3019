/** The UDP messages of a query: the first try and its retries. */
import type { SocketAddress } from '../../config/config.ts';
import { isOurLimit, type QueryBudget, takeQuestion } from './budget.ts';
import {
  familyOf,
  newExchange,
  type QueryExchange,
  type WireAnswer,
  withoutEdns,
} from './exchange.ts';
import type { Question } from './message.ts';
import { enter, find, freeId, leave, type UdpSocket, type UdpSockets } from './udp-sockets.ts';

/** Changed in place with each try. Times are on the clock of performance.now(). */
export type PendingQuery = {
  readonly question: Question;
  readonly server: SocketAddress;
  readonly timeoutMs: number;
  readonly budget: QueryBudget;
  /** Only the first call counts. */
  readonly resolve: (answer: WireAnswer) => void;
  readonly askedAt: number;
  dueAt: number;
  responded: boolean;
  socket: UdpSocket<PendingQuery>;
  exchange: QueryExchange;
};

export type Outlet = {
  readonly random16: () => number;
  readonly sockets: UdpSockets<PendingQuery>;
  /** To send at the end of this turn of the event loop. */
  outbox: PendingQuery[];
};

/** No reply at all. */
export const TIMEOUT = { kind: 'timeout' } as const satisfies WireAnswer;

const RESPONDED = { kind: 'timeout', responded: true } as const satisfies WireAnswer;

/** Our own limits ended the wait. */
export function cutOff({ responded }: Pick<PendingQuery, 'responded'>): WireAnswer {
  return { ...(responded ? RESPONDED : TIMEOUT), cutOff: true };
}

export const NOT_ASKED: WireAnswer = { kind: 'not_asked' };

type SilentQuery = Pick<PendingQuery, 'responded' | 'budget' | 'askedAt'>;

/** A timeout that says whether the server responded at all, and whether our own limits caused it. */
export function silenceOf({ responded, budget, askedAt }: SilentQuery): WireAnswer {
  if (isOurLimit(budget, askedAt)) return cutOff({ responded });
  return responded ? RESPONDED : TIMEOUT;
}

/** For a host that cannot send: `not_asked` unless the server responded before. */
export function unsent({ responded }: PendingQuery): WireAnswer {
  return responded ? RESPONDED : NOT_ASKED;
}

/** Frees the slot. Idempotent. */
export function settle(waiting: PendingQuery, answer: WireAnswer): void {
  leave(waiting.socket, waiting, waiting.exchange.id);
  waiting.resolve(answer);
}

/** Batched per turn of the event loop: waking a name server per query is the largest cost. */
export function sendQuery(outlet: Outlet, waiting: PendingQuery): void {
  if (outlet.outbox.push(waiting) === 1) setImmediate(sendAll, outlet);
}

function sendAll(outlet: Outlet): void {
  const batch = outlet.outbox;
  outlet.outbox = [];
  for (const waiting of batch) {
    // It can have been settled and its socket closed in the meantime.
    if (find(waiting.socket, waiting.exchange.id) === waiting) sendNow(waiting);
  }
}

function sendNow(waiting: PendingQuery): void {
  const { socket, server, exchange } = waiting;
  socket.udp.send(exchange.encoded, server.port, server.address, (error) => {
    // For example, no route: waiting would not help.
    if (error) settle(waiting, unsent(waiting));
  });
}

/** If the budget allows. */
function sendAgain(outlet: Outlet, waiting: PendingQuery, change: () => boolean): void {
  if (!takeQuestion(waiting.budget)) {
    settle(waiting, cutOff(waiting));
    return;
  }
  if (!change()) {
    settle(waiting, silenceOf(waiting));
    return;
  }
  waiting.dueAt = Math.min(performance.now() + waiting.timeoutMs, waiting.budget.deadline);
  sendQuery(outlet, waiting);
}

/**
 * Servers or firewalls without EDNS support return an error or nothing (RFC 6891, 7). The ID stays,
 * so an answer to the first try still counts. Settles the query if the budget is exhausted.
 */
export function askWithoutEdns(outlet: Outlet, waiting: PendingQuery): void {
  sendAgain(outlet, waiting, () => {
    waiting.exchange = withoutEdns(waiting.exchange);
    return true;
  });
}

/**
 * For a server that does not preserve case. Port and ID are drawn again: an attacker who guessed
 * them could have triggered this retry. Settles the query if the budget is exhausted or no socket
 * is available.
 */
export function askInLowerCase(outlet: Outlet, waiting: PendingQuery, edns: boolean): void {
  sendAgain(outlet, waiting, () => {
    const socket = outlet.sockets.pick(familyOf(waiting.server));
    if (socket === undefined) return false;
    leave(waiting.socket, waiting, waiting.exchange.id);
    const id = freeId(socket, outlet.random16);
    waiting.socket = socket;
    waiting.exchange = newExchange(waiting.question, { id, edns, random16: null });
    enter(socket, waiting, id);
    return true;
  });
}
