/** Data that arrives over UDP or TCP (RFC 7766), including forged data. */

import { connect } from 'node:net';
import { takeBytes, takeTcp } from './budget.ts';
import {
  isAnswer,
  isAnswerInAnyCase,
  isTooOld,
  isTruncated,
  readAnswer,
  type WireAnswer,
} from './exchange.ts';
import { HEADER_OCTETS } from './message.ts';
import {
  askInLowerCase,
  askWithoutEdns,
  type Outlet,
  type PendingQuery,
  settle,
  silenceOf,
} from './tries.ts';
import { find, leave, type Source, type UdpSocket } from './udp-sockets.ts';

export type Inlet = Outlet & {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

/** Other datagrams from the server with the right ID count against the query's budget. */
export function receive(
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

function fetchWhole(inlet: Inlet, waiting: PendingQuery): void {
  if (!takeTcp(waiting.budget, waiting.server.address)) {
    settle(waiting, silenceOf(waiting));
    return;
  }
  leave(waiting.socket, waiting, waiting.exchange.id); // from here on TCP has its own timer
  void overTcp(inlet, waiting).then(waiting.resolve);
}

/** A truncated answer is ignored: without the whole one there is none (RFC 2181, 9). */
async function overTcp({ options, closing }: Inlet, waiting: PendingQuery): Promise<WireAnswer> {
  const { exchange, server, budget, askedAt } = waiting;
  const bytes = await askOverTcp(exchange.encoded, server, {
    timeoutMs: Math.min(options.tcpTimeoutMs, budget.deadline - performance.now()),
    take: (octets) => takeBytes(budget, octets),
    signal: waiting.signal ? AbortSignal.any([closing.signal, waiting.signal]) : closing.signal,
  });
  if (bytes === undefined) return silenceOf(waiting);
  if (!isAnswerInAnyCase(bytes, exchange)) return { kind: 'malformed' };
  return readAnswer(bytes, 'tcp', performance.now() - askedAt);
}

type TcpServer = { readonly address: string; readonly port: number };

type TcpOptions = {
  /** For connection, query and answer together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gets the size of each chunk before it is kept. False ends the exchange. */
  readonly take: (bytes: number) => boolean;
};

/** A server can exceed what `take` allows by one chunk at most. */
const READ_OCTETS = 4096;

/**
 * Resolves with the bytes of the first answer, without its length prefix (RFC 1035, 4.2.2).
 * Undefined on a timeout, any error, an abort, or if `take` returns false. Never rejects, and
 * always closes the connection.
 */
function askOverTcp(
  encoded: Buffer,
  server: TcpServer,
  { timeoutMs, signal, take }: TcpOptions,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const collect = answerCollector();
    const onread = { buffer: Buffer.allocUnsafe(READ_OCTETS), callback: receive };
    const socket = connect({ host: server.address, port: server.port, noDelay: true, onread });
    const timer = setTimeout(giveUp, timeoutMs);

    function settle(answer: Buffer | undefined): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(answer);
    }
    function giveUp(): void {
      settle(undefined);
    }
    /** Returns whether to continue reading. */
    function receive(length: number, buffer: Uint8Array): boolean {
      const answer = take(length) ? collect(Buffer.from(buffer.subarray(0, length))) : 'too much';
      if (answer === 'more') return true;
      settle(answer === 'too much' ? undefined : answer);
      return false;
    }

    signal.addEventListener('abort', giveUp);
    socket.on('error', giveUp);
    socket.on('close', giveUp);
    // Length and query in one write, as servers expect (RFC 7766, 8).
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(encoded.length);
    socket.write(Buffer.concat([length, encoded]));
    if (signal.aborted) giveUp();
  });
}

/** Joins chunks once, so that single octets do not cause quadratic work. */
function answerCollector(): (piece: Buffer) => Buffer | 'more' {
  const pieces: Buffer[] = [];
  let received = 0;
  let end = 2;
  return (piece) => {
    pieces.push(piece);
    received += piece.length;
    if (received < end) return 'more';
    const joined = Buffer.concat(pieces);
    end = 2 + joined.readUInt16BE(0);
    return received < end ? 'more' : joined.subarray(2, end);
  };
}
