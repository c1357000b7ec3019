/**
 * Sends one query to one server: UDP first, TCP after truncation or silence. For thousands of queries
 * per second: shared sockets, one timer for all waits, batched sends.
 */
import { setMaxListeners } from 'node:events';
import type { SocketAddress } from '../../config/config.ts';
import {
  isCutOff,
  isSpent,
  mayTryTcp,
  type QueryBudget,
  type TcpKnown,
  takeBytes,
  takeQuestion,
  tcpOf,
  unlimited,
  usesTcp,
} from './budget.ts';
import {
  asSource,
  createRandom16,
  familyOf,
  isAnswer,
  isAnswerInAnyCase,
  isTooOld,
  isTruncated,
  newExchange,
  type QueryExchange,
  readAnswer,
  type WireAnswer,
  withoutEdns,
} from './exchange.ts';
import { HEADER_OCTETS, type Question } from './message.ts';
import { openTcp, type TcpConnection, type TcpEnd } from './tcp-connection.ts';
import {
  askInLowerCase,
  askWithoutEdns,
  cutOff,
  NOT_ASKED,
  type Outlet,
  type PendingQuery,
  sendQuery,
  settle,
  silenceOf,
  TIMEOUT,
  unsent,
} from './tries.ts';
import {
  createUdpSockets,
  enter,
  find,
  freeId,
  leave,
  type Source,
  type UdpSocket,
} from './udp-sockets.ts';

type WireAskOptions = {
  /** Counted down by messages and bytes; once exhausted, a timeout. Default: unlimited. */
  readonly budget?: QueryBudget;
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
  { budget = unlimited }: WireAskOptions,
  resolve: (answer: WireAnswer) => void,
): void {
  if (state.closing.signal.aborted) {
    resolve(TIMEOUT);
    return;
  }
  const server = asSource(given);
  const askedAt = performance.now();
  const { timeoutMs } = state.options;
  const asking = { question, server, timeoutMs, budget, resolve, askedAt };
  if (usesTcp(budget, server)) void startOverTcp(state, asking);
  else startOverUdp(state, asking);
}

type Asking = Omit<PendingQuery, 'dueAt' | 'responded' | 'socket' | 'exchange'>;

function startOverUdp(state: State, asking: Asking): void {
  const { question, server, timeoutMs, budget, resolve, askedAt } = asking;
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
  const { budget, exchange, dueAt } = waiting;
  if (isCutOff(budget, now)) settle(waiting, silenceOf(waiting));
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

// Data that arrives over UDP, including forged data.

type Inlet = Outlet & TcpOutlet;

/** Other datagrams from the server with the right ID count against the query's budget. */
function receive(
  inlet: Inlet,
  socket: UdpSocket<PendingQuery>,
  bytes: Buffer,
  source: Source,
): void {
  if (bytes.length < HEADER_OCTETS) return;
  const id = bytes.readUInt16BE(0);
  const waiting = find(socket, id);
  if (waiting === undefined || waiting.exchange.id !== id) return;
  const { server, exchange } = waiting;
  // The ID alone does not suffice: the source must be the queried server.
  if (source.port !== server.port || source.address !== server.address) return;
  // Invalid answers count too: a server could send garbage for the whole wait.
  if (!takeBytes(waiting.budget, bytes.length)) settle(waiting, silenceOf(waiting));
  else if (isAnswer(bytes, exchange)) useAnswer(inlet, waiting, bytes);
  else if (exchange.mixedCase && isAnswerInAnyCase(bytes, exchange)) {
    waiting.responded = true;
    askInLowerCase(inlet, waiting, exchange.edns && !isTooOld(bytes));
  }
}

function useAnswer(inlet: Inlet, waiting: PendingQuery, bytes: Buffer): void {
  waiting.responded = true;
  if (isTooOld(bytes) && waiting.exchange.edns) askWithoutEdns(inlet, waiting);
  else if (isTruncated(bytes)) fetchWhole(inlet, waiting);
  else settle(waiting, readAnswer(bytes, 'udp', performance.now() - waiting.askedAt));
}

/** From here on, TCP has its own timer. */
function fetchWhole(inlet: Inlet, waiting: PendingQuery): void {
  leave(waiting.socket, waiting, waiting.exchange.id);
  void askOverTcp(inlet, waiting).then(waiting.resolve);
}

/**
 * For a server that is silent over UDP: some servers and networks only let TCP pass. Once per check;
 * the first answer counts.
 */
function tryOverTcp(inlet: Inlet, waiting: PendingQuery): void {
  const { budget, server, question } = waiting;
  if (waiting.responded || !mayTryTcp(budget, server)) return;
  // In lower case: answers cannot be injected into a connection.
  const exchange = newExchange(question, { id: inlet.random16(), edns: true, random16: null });
  void askOverTcp(inlet, { ...waiting, exchange }).then((answer) => {
    if (answer.kind !== 'timeout') settle(waiting, answer);
  });
}

// A query over TCP (RFC 7766): after a truncated answer or none over UDP, and from then on directly.

type TcpOutlet = {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

type TcpQuery = {
  readonly exchange: QueryExchange;
  readonly server: SocketAddress;
  readonly budget: QueryBudget;
  /** Of the first message, over UDP or TCP; on the clock of performance.now(). */
  readonly askedAt: number;
  /** Whether the server sent anything over UDP. */
  readonly responded: boolean;
};

/**
 * On the check's connection to the server; without EDNS if the server does not know it (RFC 6891, 7). A
 * server that never answers over TCP gets no further connection in the same check.
 */
async function askOverTcp(outlet: TcpOutlet, asked: TcpQuery): Promise<WireAnswer> {
  const { exchange, askedAt } = asked;
  const end = await askWhole(outlet, asked);
  if (!Buffer.isBuffer(end)) return end;
  if (exchange.edns && isTooOld(end)) {
    return askOverTcp(outlet, { ...asked, exchange: withoutEdns(exchange) });
  }
  const answer = readAnswer(end, 'tcp', performance.now() - askedAt);
  if (answer.kind === 'malformed') giveUp(tcpOf(asked.budget, asked.server));
  return answer;
}

/** Opens another connection if the server closed one after an answer (RFC 7766, 6.2.4). */
async function askWhole(outlet: TcpOutlet, asked: TcpQuery): Promise<Buffer | WireAnswer> {
  const { exchange, server, budget } = asked;
  const known = tcpOf(budget, server);
  if (known.outcome === 'fails') return silenceOf(asked);
  if (isSpent(budget)) return cutOff(asked);
  const connection = connectionTo(outlet, asked, known);
  const timeoutMs = Math.min(outlet.options.tcpTimeoutMs, budget.deadline - performance.now());
  const end = await connection.ask(exchange, {
    timeoutMs,
    pay: () => takeQuestion(budget),
  });
  if (end === 'unpaid') return cutOff(asked);
  if (!connection.hasAnswered()) giveUp(known);
  else if (known.outcome === 'untried') known.outcome = 'answers';
  if (end === 'closed' && connection.hasAnswered()) return askWhole(outlet, asked);
  // Without a budget, no later query could use it.
  if (budget.tcp === null) connection.close();
  return Buffer.isBuffer(end) ? end : endOf(end, asked);
}

function connectionTo(
  { closing }: TcpOutlet,
  { server, budget }: TcpQuery,
  known: TcpKnown,
): TcpConnection {
  if (known.connection?.isOpen()) return known.connection;
  const take = (bytes: number) => takeBytes(budget, bytes);
  known.connection = openTcp(server, { take, signal: closing.signal });
  return known.connection;
}

function giveUp(known: TcpKnown): void {
  known.outcome = 'fails';
  known.connection?.close();
}

/** A truncated answer is ignored: without the whole one there is none (RFC 2181, 9). */
function endOf(end: Exclude<TcpEnd, Buffer | 'unpaid'>, asked: TcpQuery): WireAnswer {
  if (end === 'malformed') return { kind: 'malformed' };
  return end === 'too_much' ? cutOff({ responded: true }) : silenceOf(asked);
}
