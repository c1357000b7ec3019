/**
 * One question to one server: UDP first, TCP where the answer was truncated or none came, once more where nobody answers. Made for
 * thousands of questions a second: a few shared sockets, one array access for each answer, one timer for all that wait,
 * and the questions of one turn of the event loop sent together.
 */
import { setMaxListeners } from 'node:events';
import type { SocketAddress } from '../../config/config.ts';
import { type Budget, isCutOff, takeQuestion, tcpOf, unlimited } from './budget.ts';
import { asSource, createRandom16, familyOf, newExchange, type WireAnswer } from './exchange.ts';
import type { Question } from './message.ts';
import { askOverTcp } from './over-tcp.ts';
import { type Inlet, receive, tryOverTcp } from './receive.ts';
import {
  askWithoutEdns,
  cutOff,
  NOT_ASKED,
  send,
  settle,
  silenceOf,
  TIMEOUT,
  unsent,
  type Waiting,
} from './tries.ts';
import { createUdpSockets, enter, freeId, type UdpSocket } from './udp-sockets.ts';

/** What one question may cost, and what ends it early. */
export type AskOptions = {
  /** How long to wait for each UDP try; the wire's own `timeoutMs` otherwise. */
  readonly timeoutMs?: number;
  /**
   * What is paid from: each message sent and each byte received is taken off. Where it is spent, a timeout. Unlimited if
   * missing.
   */
  readonly budget?: Budget;
  /** Once aborted, the question settles as a timeout within some 25 ms. */
  readonly signal?: AbortSignal;
};

/** Asks DNS servers. One for the whole process. */
export type Wire = {
  /**
   * Asks one question. Only an answer from this address and port with the id and the question that were sent, letter by
   * letter, counts; all else is ignored. Sends at most three messages over UDP and two over TCP, or one more for each connection
   * that a server closes. What has answered over TCP in a check is asked over TCP from then on. Rejects with RangeError
   * for a name that cannot be asked, never for what the network does.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options?: AskOptions,
  ) => Promise<WireAnswer>;
  /** Settles every question that waits as a timeout, as it does every later one. May be called again. */
  readonly close: () => void;
};

/** Timeouts and sockets; each has a default below. */
export type WireOptions = {
  /** For each UDP try: with EDNS, and once more without; a third one, in lower case, follows an answer at once. */
  readonly timeoutMs?: number;
  /** For the whole exchange over TCP, connection included. */
  readonly tcpTimeoutMs?: number;
  /** How many ports questions leave from at a time, for IPv4 and for IPv6 each. */
  readonly socketsPerFamily?: number;
  /** After so many questions, 2,048 at most, a socket is replaced, and with it its port. */
  readonly usesPerSocket?: number;
  /** The age in ms after which a socket is replaced as well. */
  readonly socketMs?: number;
};

/** What the functions below share; one for each wire. */
type State = Inlet & {
  readonly options: Required<WireOptions>;
  sweeper: NodeJS.Timeout | undefined;
};

const defaults = {
  timeoutMs: 1_500,
  tcpTimeoutMs: 2_000,
  socketsPerFamily: 8,
  usesPerSocket: 2_000,
  // Whoever learns our ports, as the owner of any name server may, has little time to use them (RFC 5452, 9.2). Our choice.
  socketMs: 10_000,
} as const;

/** How often what waits is checked, in ms: a timeout is late by this much at most. */
const SWEEP_MS = 25;

/**
 * Opens no socket before the first question, and keeps the process alive only while one waits. One is enough for a
 * process: the more questions share the sockets, the less each costs.
 */
export function createWire(given: WireOptions = {}): Wire {
  const options = { ...defaults, ...given };
  const random16 = createRandom16();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each question on TCP
  const sockets = createUdpSockets<Waiting>({
    socketsPerFamily: options.socketsPerFamily,
    usesPerSocket: options.usesPerSocket,
    socketMs: options.socketMs,
    random16,
    onMessage: (socket, bytes, source) => receive(state, socket, bytes, source),
    onLost: (socket) => settleAll(socket, unsent),
  });
  const state: State = { options, random16, closing, sockets, outbox: [], sweeper: undefined };
  return {
    ask: (question, server, askOptions = {}) =>
      new Promise((resolve) => start(state, question, server, askOptions, resolve)),
    close: () => close(state),
  };
}

function start(
  state: State,
  question: Question,
  given: SocketAddress,
  { timeoutMs = state.options.timeoutMs, budget = unlimited, signal }: AskOptions,
  resolve: (answer: WireAnswer) => void,
): void {
  if (state.closing.signal.aborted || signal?.aborted) {
    resolve(TIMEOUT);
    return;
  }
  const server = asSource(given);
  const askedAt = performance.now();
  const asking = { question, server, timeoutMs, budget, signal, resolve, askedAt };
  if (tcpOf(budget, server).outcome === 'answers') void startOverTcp(state, asking);
  else startOverUdp(state, asking);
}

/** What is known before a message is sent. */
type Asking = Omit<Waiting, 'dueAt' | 'responded' | 'socket' | 'exchange'>;

function startOverUdp(state: State, asking: Asking): void {
  const { question, server, timeoutMs, budget, resolve } = asking;
  if (!takeQuestion(budget)) {
    resolve(cutOff({ responded: false }));
    return;
  }
  const socket = state.sockets.pick(familyOf(server));
  if (socket === undefined) {
    resolve(NOT_ASKED);
    return;
  }
  const { random16 } = state;
  const exchange = newExchange(question, { id: freeId(socket, random16), edns: true, random16 });
  const dueAt = Math.min(performance.now() + timeoutMs, budget.deadline);
  const waiting: Waiting = { ...asking, dueAt, responded: false, socket, exchange };
  enter(socket, waiting, exchange.id);
  send(state, waiting);
  // This timer, not the sockets, keeps the process alive while a question waits.
  state.sweeper ??= setInterval(() => sweep(state), SWEEP_MS);
}

/**
 * In lower case, as nobody can slip in an answer on a connection. Where it fails though it worked before, the question goes
 * over UDP.
 */
async function startOverTcp(state: State, asking: Asking): Promise<void> {
  const { question, server, budget, resolve } = asking;
  const exchange = newExchange(question, { id: state.random16(), edns: true, random16: null });
  const answer = await askOverTcp(state, { ...asking, exchange, responded: false });
  if (answer.kind === 'response' || tcpOf(budget, server).outcome === 'answers') resolve(answer);
  else startOverUdp(state, asking);
}

/** Checks everything that waits. With nothing left it stops its timer, and lets the process end. */
function sweep(state: State): void {
  const now = performance.now();
  let found = 0;
  for (const socket of state.sockets.all()) {
    found += socket.waiting;
    if (socket.waiting === 0) continue;
    for (const waiting of socket.slots) if (waiting !== undefined) check(state, waiting, now);
  }
  state.sockets.reap();
  if (found === 0) stopSweeping(state);
}

function check(state: State, waiting: Waiting, now: number): void {
  const { budget, signal, exchange, dueAt } = waiting;
  if (isCutOff(budget, now) || signal?.aborted === true) settle(waiting, silenceOf(waiting));
  else if (now < dueAt) return;
  else if (exchange.edns && exchange.mixedCase) {
    tryOverTcp(state, waiting);
    askWithoutEdns(state, waiting);
  } else settle(waiting, silenceOf(waiting));
}

function stopSweeping(state: State): void {
  clearInterval(state.sweeper);
  state.sweeper = undefined;
}

function settleAll(socket: UdpSocket<Waiting>, as: (waiting: Waiting) => WireAnswer): void {
  for (const waiting of socket.slots) if (waiting !== undefined) settle(waiting, as(waiting));
}

function close(state: State): void {
  state.closing.abort();
  stopSweeping(state);
  for (const socket of state.sockets.all()) settleAll(socket, silenceOf);
  state.sockets.close();
}
