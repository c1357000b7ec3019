/**
 * One question to one server: UDP first, TCP where the answer was truncated, one retry. Made for thousands of
 * questions a second: a few shared sockets, one look into a map for each answer, one timer for all that wait.
 */
import { setMaxListeners } from 'node:events';
import { isIPv6 } from 'node:net';
import type { SocketAddress } from '../../config.ts';
import { type Budget, isCutOff, takeBytes, takeQuestion, unlimited } from '../budget.ts';
import {
  type Exchange,
  isAnswer,
  isFormatError,
  isFrom,
  isTruncated,
  newExchange,
  readAnswer,
  type WireAnswer,
} from './exchange.ts';
import { encodeQuestion, HEADER_OCTETS, type Question } from './message.ts';
import { createRandom16 } from './random.ts';
import { askOverTcp } from './tcp.ts';
import { createUdpSockets, type Source, type UdpSocket, type UdpSockets } from './udp-sockets.ts';

export type AskOptions = {
  /** How long to wait for each of the two UDP tries; the wire's own `timeoutMs` otherwise. */
  readonly timeoutMs?: number;
  /** What it may cost: each message sent and each byte received is taken off. Spent: a timeout. */
  readonly budget?: Budget;
  readonly signal?: AbortSignal;
};

export type Wire = {
  /**
   * Asks one question. Only an answer from this address and port with the id and question that were sent counts; all
   * else is ignored. Rejects with RangeError for a name that cannot be asked, never for what the network does.
   */
  readonly ask: (
    question: Question,
    server: SocketAddress,
    options?: AskOptions,
  ) => Promise<WireAnswer>;
  /** Every question that still waits settles as a timeout, and so does every later one. */
  readonly close: () => void;
};

export type WireOptions = {
  /** For each UDP try; there are two. */
  readonly timeoutMs?: number;
  readonly tcpTimeoutMs?: number;
  readonly socketsPerFamily?: number;
  /** After so many questions a socket, and with it its port, is replaced. */
  readonly usesPerSocket?: number;
};

/** A question whose answer has not come. `dueAt` is on the clock of performance.now(). */
type Waiting = {
  readonly exchange: Exchange;
  readonly timeoutMs: number;
  readonly budget: Budget;
  readonly signal: AbortSignal | undefined;
  readonly settle: (answer: WireAnswer) => void;
  dueAt: number;
  retried: boolean;
};

/** What the functions below share; one for each wire. */
type State = {
  readonly options: Required<WireOptions>;
  readonly random16: () => number;
  readonly closing: AbortController;
  readonly sockets: UdpSockets<Waiting>;
  sweeper: NodeJS.Timeout | undefined;
};

const defaults = {
  timeoutMs: 1_500,
  tcpTimeoutMs: 2_000,
  socketsPerFamily: 8,
  usesPerSocket: 2_000,
} as const;

/** How often what waits is looked through: a timeout is late by this much at most. */
const SWEEP_MS = 25;

const TIMEOUT: WireAnswer = { kind: 'timeout' };

/** One for the whole process: the more questions share the sockets, the less each costs. */
export function createWire(given: WireOptions = {}): Wire {
  const options = { ...defaults, ...given };
  const random16 = createRandom16();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // one for each question on TCP
  const sockets = createUdpSockets<Waiting>({
    socketsPerFamily: options.socketsPerFamily,
    usesPerSocket: options.usesPerSocket,
    random16,
    onMessage: (socket, bytes, source) => receive(state, socket, bytes, source),
    onLost: settleAll,
  });
  const state: State = { options, random16, closing, sockets, sweeper: undefined };
  return {
    ask: (question, server, askOptions = {}) =>
      new Promise((resolve) => start(state, question, server, askOptions, resolve)),
    close: () => close(state),
  };
}

function start(
  state: State,
  question: Question,
  server: SocketAddress,
  { timeoutMs = state.options.timeoutMs, budget = unlimited, signal }: AskOptions,
  resolve: (answer: WireAnswer) => void,
): void {
  const over = state.closing.signal.aborted || signal?.aborted || !takeQuestion(budget);
  const socket = over ? undefined : state.sockets.pick(isIPv6(server.address) ? 6 : 4);
  if (socket === undefined) {
    resolve(TIMEOUT);
    return;
  }
  const id = freeId(state, socket);
  const waiting: Waiting = {
    exchange: newExchange(question, server, id),
    timeoutMs,
    budget,
    signal,
    settle: (answer) => {
      // After TCP the id may be another question's already.
      if (socket.waiting.get(id) === waiting) socket.waiting.delete(id);
      resolve(answer);
    },
    dueAt: dueAfter(timeoutMs, budget),
    retried: false,
  };
  socket.waiting.set(id, waiting);
  send(socket, waiting, waiting.exchange.encoded);
  // This timer, not the sockets, keeps the process alive while a question waits.
  state.sweeper ??= setInterval(() => sweep(state), SWEEP_MS);
}

function dueAfter(timeoutMs: number, { deadline }: Budget): number {
  return Math.min(performance.now() + timeoutMs, deadline);
}

/** An id that nobody waits for on this socket, so that it alone finds the question again. */
function freeId(state: State, socket: UdpSocket<Waiting>): number {
  let id = state.random16();
  while (socket.waiting.has(id)) id = state.random16();
  return id;
}

function send(socket: UdpSocket<Waiting>, waiting: Waiting, bytes: Buffer): void {
  const { server } = waiting.exchange;
  socket.udp.send(bytes, server.port, server.address, (error) => {
    // No route, for example: waiting would not help.
    if (error) waiting.settle(TIMEOUT);
  });
}

/**
 * Once more with the same id, without EDNS: a server or firewall too old for it says FORMERR or nothing at all
 * (RFC 6891, 7). An answer to the first try is still welcome.
 */
function retry(socket: UdpSocket<Waiting>, waiting: Waiting): void {
  const { question, id } = waiting.exchange;
  if (!takeQuestion(waiting.budget)) {
    waiting.settle(TIMEOUT);
    return;
  }
  waiting.retried = true;
  waiting.dueAt = dueAfter(waiting.timeoutMs, waiting.budget);
  send(socket, waiting, encodeQuestion(question, id, false));
}

/** Everything that arrives on a socket, wanted or forged. */
function receive(state: State, socket: UdpSocket<Waiting>, bytes: Buffer, source: Source): void {
  if (bytes.length < HEADER_OCTETS) return;
  const waiting = socket.waiting.get(bytes.readUInt16BE(0));
  if (waiting === undefined || !isFrom(source, waiting.exchange)) return;
  // Also what is no answer costs: a server could send nonsense for as long as we wait.
  if (!takeBytes(waiting.budget, bytes.length)) waiting.settle(TIMEOUT);
  else if (isAnswer(bytes, waiting.exchange)) useAnswer(state, socket, waiting, bytes);
}

function useAnswer(
  state: State,
  socket: UdpSocket<Waiting>,
  waiting: Waiting,
  bytes: Buffer,
): void {
  if (isFormatError(bytes) && !waiting.retried) retry(socket, waiting);
  else if (isTruncated(bytes)) fetchWhole(state, socket, waiting);
  else waiting.settle(readAnswer(bytes, 'udp'));
}

function fetchWhole(state: State, socket: UdpSocket<Waiting>, waiting: Waiting): void {
  if (!takeQuestion(waiting.budget)) {
    waiting.settle(TIMEOUT);
    return;
  }
  socket.waiting.delete(waiting.exchange.id); // from here on TCP has its own timer
  void overTcp(state, waiting).then(waiting.settle);
}

/** A truncated answer is to be ignored: without the whole one there is none (RFC 2181, 9). */
async function overTcp({ options, closing }: State, waiting: Waiting): Promise<WireAnswer> {
  const { exchange, budget } = waiting;
  const bytes = await askOverTcp(exchange.encoded, exchange.server, {
    timeoutMs: Math.min(options.tcpTimeoutMs, budget.deadline - performance.now()),
    take: (octets) => takeBytes(budget, octets),
    signal: waiting.signal ? AbortSignal.any([closing.signal, waiting.signal]) : closing.signal,
  });
  if (bytes === undefined) return TIMEOUT;
  return isAnswer(bytes, exchange) ? readAnswer(bytes, 'tcp') : { kind: 'malformed' };
}

/** Looks through everything that waits. With nothing left it stops, and lets the process end. */
function sweep(state: State): void {
  const now = performance.now();
  let found = 0;
  for (const socket of state.sockets.all()) {
    found += socket.waiting.size;
    for (const waiting of socket.waiting.values()) check(socket, waiting, now);
  }
  state.sockets.reap();
  if (found === 0) stopSweeping(state);
}

function check(socket: UdpSocket<Waiting>, waiting: Waiting, now: number): void {
  const over = isCutOff(waiting.budget, now) || waiting.signal?.aborted === true;
  if (over || (waiting.retried && now >= waiting.dueAt)) waiting.settle(TIMEOUT);
  else if (now >= waiting.dueAt) retry(socket, waiting);
}

function stopSweeping(state: State): void {
  clearInterval(state.sweeper);
  state.sweeper = undefined;
}

function settleAll(socket: UdpSocket<Waiting>): void {
  for (const waiting of socket.waiting.values()) waiting.settle(TIMEOUT);
}

function close(state: State): void {
  state.closing.abort();
  stopSweeping(state);
  for (const socket of state.sockets.all()) settleAll(socket);
  state.sockets.close();
}
