/**
 * Sends one query to one server: UDP first, TCP after truncation or silence. For thousands of queries
 * per second: shared sockets, one timer for all waits, batched sends.
 */
import { setMaxListeners } from 'node:events';
import type { SocketAddress } from '../../config/config.ts';
import { isCutOff, type QueryBudget, takeQuestion, unlimited, usesTcp } from './budget.ts';
import { asSource, createRandom16, familyOf, newExchange, type WireAnswer } from './exchange.ts';
import type { Question } from './message.ts';
import { askOverTcp } from './over-tcp.ts';
import { type Inlet, receive, tryOverTcp } from './receive.ts';
import {
  askWithoutEdns,
  cutOff,
  NOT_ASKED,
  type PendingQuery,
  sendQuery,
  settle,
  silenceOf,
  TIMEOUT,
  unsent,
} from './tries.ts';
import { createUdpSockets, enter, freeId, type UdpSocket } from './udp-sockets.ts';

type WireAskOptions = {
  /** Of each UDP try. */
  readonly timeoutMs?: number;
  /** Counted down by messages and bytes; once exhausted, a timeout. Default: unlimited. */
  readonly budget?: QueryBudget;
  /** The query then settles as a timeout within about 25 ms. */
  readonly signal?: AbortSignal;
};

/** One per process. */
export type Wire = {
  /**
   * Only an answer from this address and port with the same ID and question, including case,
   * counts. Sends at most three messages over UDP, and two over TCP, or one more per connection that
   * the server closes. Once a server answered over TCP, the check's further queries use TCP. Rejects
   * with RangeError for an invalid name, never because of the network.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options?: WireAskOptions,
  ) => Promise<WireAnswer>;
  /** Settles pending and later queries as timeouts. Idempotent. */
  readonly close: () => void;
};

export type WireOptions = {
  /** Per UDP try: with EDNS, then without. One in lower case immediately follows an answer. */
  readonly timeoutMs?: number;
  /** Includes the connection. */
  readonly tcpTimeoutMs?: number;
  /** Source ports in use at a time. */
  readonly socketsPerFamily?: number;
  /** At most 2,048. */
  readonly usesPerSocket?: number;
  readonly socketMs?: number;
};

type State = Inlet & {
  readonly options: Required<WireOptions>;
  sweeper: NodeJS.Timeout | undefined;
};

const defaults = {
  timeoutMs: 1_500,
  tcpTimeoutMs: 2_000,
  socketsPerFamily: 8,
  usesPerSocket: 2_000,
  // Bounds how long an attacker who learns our ports, such as the owner of a name server, can use
  // them (RFC 5452, 9.2).
  socketMs: 10_000,
} as const;

/** Timeouts are late by at most this. */
const SWEEP_MS = 25;

/**
 * Opens no socket before the first query, and keeps the process alive only while a query is
 * pending. One per process: sharing sockets makes queries cheaper.
 */
export function createWire(given: WireOptions = {}): Wire {
  const options = { ...defaults, ...given };
  const random16 = createRandom16();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one per TCP query
  const sockets = createUdpSockets<PendingQuery>({
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
  { timeoutMs = state.options.timeoutMs, budget = unlimited, signal }: WireAskOptions,
  resolve: (answer: WireAnswer) => void,
): void {
  if (state.closing.signal.aborted || signal?.aborted) {
    resolve(TIMEOUT);
    return;
  }
  const server = asSource(given);
  const askedAt = performance.now();
  const asking = { question, server, timeoutMs, budget, signal, resolve, askedAt };
  if (usesTcp(budget, server)) void startOverTcp(state, asking);
  else startOverUdp(state, asking);
}

type Asking = Omit<PendingQuery, 'dueAt' | 'responded' | 'socket' | 'exchange'>;

function startOverUdp(state: State, asking: Asking): void {
  const { question, server, timeoutMs, budget, signal, resolve, askedAt } = asking;
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
  const id = freeId(socket, random16);
  const how = question.plain ? { edns: false, random16: null } : { edns: true, random16 };
  const exchange = newExchange(question, { id, ...how });
  const dueAt = Math.min(performance.now() + timeoutMs, budget.deadline);
  // Not a spread of `asking`, which takes several times as long.
  const waiting: PendingQuery = {
    question,
    server,
    timeoutMs,
    budget,
    signal,
    resolve,
    askedAt,
    dueAt,
    responded: false,
    socket,
    exchange,
  };
  enter(socket, waiting, exchange.id);
  sendQuery(state, waiting);
  // This timer, not the sockets, keeps the process alive while a query is pending.
  state.sweeper ??= setInterval(() => sweep(state), SWEEP_MS);
}

/** In lower case. If it fails although it worked before, the query uses UDP. */
async function startOverTcp(state: State, asking: Asking): Promise<void> {
  const { question, server, budget, resolve } = asking;
  const exchange = newExchange(question, { id: state.random16(), edns: true, random16: null });
  const answer = await askOverTcp(state, { ...asking, exchange, responded: false });
  if (answer.kind === 'response' || usesTcp(budget, server)) resolve(answer);
  else startOverUdp(state, asking);
}

/** Stops the timer if no query is left, so that the process can end. */
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

function check(state: State, waiting: PendingQuery, now: number): void {
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

function settleAll(
  socket: UdpSocket<PendingQuery>,
  as: (waiting: PendingQuery) => WireAnswer,
): void {
  for (const waiting of socket.slots) if (waiting !== undefined) settle(waiting, as(waiting));
}

function close(state: State): void {
  state.closing.abort();
  stopSweeping(state);
  for (const socket of state.sockets.all()) settleAll(socket, silenceOf);
  state.sockets.close();
}
