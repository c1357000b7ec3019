/** The messages that a question sends over UDP: the first try, and what it may try after that. */
import type { SocketAddress } from '../../config/config.ts';
import { type Budget, isOurLimit, takeQuestion } from './budget.ts';
import { type Exchange, familyOf, newExchange, type WireAnswer, withoutEdns } from './exchange.ts';
import type { Question } from './message.ts';
import { enter, find, freeId, leave, type UdpSocket, type UdpSockets } from './udp-sockets.ts';

/** A question whose answer has not come, changed in place with each try. Times are on the clock of performance.now(). */
export type Waiting = {
  readonly question: Question;
  readonly server: SocketAddress;
  readonly timeoutMs: number;
  readonly budget: Budget;
  readonly signal: AbortSignal | undefined;
  /** Resolves the promise of `Wire.ask`; only its first call counts. */
  readonly resolve: (answer: WireAnswer) => void;
  /** When the first message was handed over to be sent. */
  readonly askedAt: number;
  /** When the try that is under way counts as unanswered. */
  dueAt: number;
  /** Whether the server has said anything yet. */
  responded: boolean;
  /** Where it waits, and for what: as it was sent last. */
  socket: UdpSocket<Waiting>;
  exchange: Exchange;
};

/** What every question of a wire is sent through. */
export type Outlet = {
  readonly random16: () => number;
  readonly sockets: UdpSockets<Waiting>;
  /** What is sent at the end of this turn of the event loop. */
  outbox: Waiting[];
};

/** The answer where no reply came at all. */
export const TIMEOUT = { kind: 'timeout' } as const satisfies WireAnswer;

const RESPONDED = { kind: 'timeout', responded: true } as const satisfies WireAnswer;

/** The answer where our own limits end the wait. */
export function cutOff({ responded }: Pick<Waiting, 'responded'>): WireAnswer {
  return responded ? { ...RESPONDED, cutOff: true } : { ...TIMEOUT, cutOff: true };
}

/** The answer where the question could not be sent. */
export const NOT_ASKED: WireAnswer = { kind: 'not_asked' };

/** What decides how a wait without a whole reply ends. */
type Silence = Pick<Waiting, 'responded' | 'budget' | 'askedAt'>;

/**
 * The answer where a wait ends without a whole reply: a timeout, which says whether the server responded at all, or that
 * our own limits came before it.
 */
export function silenceOf({ responded, budget, askedAt }: Silence): WireAnswer {
  if (isOurLimit(budget, askedAt)) return cutOff({ responded });
  return responded ? RESPONDED : TIMEOUT;
}

/** As `silenceOf`, where the wait ends because this host cannot send: `not_asked` unless the server responded before. */
export function unsent({ responded }: Waiting): WireAnswer {
  return responded ? RESPONDED : NOT_ASKED;
}

/** Ends the wait with this answer and frees its slot. A second call changes nothing. */
export function settle(waiting: Waiting, answer: WireAnswer): void {
  leave(waiting.socket, waiting, waiting.exchange.id);
  waiting.resolve(answer);
}

/**
 * Sends the message as its exchange says, together with all else of this turn of the event loop: a name server that was
 * woken for one question finds the others, and waking it is what costs us most.
 */
export function send(outlet: Outlet, waiting: Waiting): void {
  if (outlet.outbox.push(waiting) === 1) setImmediate(sendAll, outlet);
}

function sendAll(outlet: Outlet): void {
  const batch = outlet.outbox;
  outlet.outbox = [];
  for (const waiting of batch) {
    // It may have been settled meanwhile, and its socket closed.
    if (find(waiting.socket, waiting.exchange.id) === waiting) sendNow(waiting);
  }
}

function sendNow(waiting: Waiting): void {
  const { socket, server, exchange } = waiting;
  socket.udp.send(exchange.encoded, server.port, server.address, (error) => {
    // No route, for example: waiting would not help.
    if (error) settle(waiting, unsent(waiting));
  });
}

/** Sends it once more, as `change` makes it, where the budget allows. */
function sendAgain(outlet: Outlet, waiting: Waiting, change: () => boolean): void {
  if (!takeQuestion(waiting.budget)) {
    settle(waiting, cutOff(waiting));
    return;
  }
  if (!change()) {
    settle(waiting, silenceOf(waiting));
    return;
  }
  waiting.dueAt = Math.min(performance.now() + waiting.timeoutMs, waiting.budget.deadline);
  send(outlet, waiting);
}

/**
 * Asks once more without EDNS: a server or firewall too old for it says so or nothing at all (RFC 6891, 7). The id
 * stays, so that an answer to the first try still counts. Settles the question where the budget is spent.
 */
export function askWithoutEdns(outlet: Outlet, waiting: Waiting): void {
  sendAgain(outlet, waiting, () => {
    waiting.exchange = withoutEdns(waiting.exchange);
    return true;
  });
}

/**
 * Asks once more in plain lower case, for a server that does not keep the case of a question. Port and id are drawn
 * again: whoever guessed them, and so had the case taken away, must guess them once more. Settles the question where the
 * budget is spent or this host has no socket.
 */
export function askInLowerCase(outlet: Outlet, waiting: Waiting, edns: boolean): void {
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
