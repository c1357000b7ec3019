/** What arrives over UDP or TCP (RFC 7766), wanted or forged, and what is made of it. */

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
  settle,
  silenceOf,
  type Waiting,
} from './tries.ts';
import { find, leave, type Source, type UdpSocket } from './udp-sockets.ts';

/** What `receive` needs of the wire that something arrives at. */
export type Inlet = Outlet & {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

/**
 * Settles the question that this datagram answers, or has it ask again. Everything else is ignored, but what comes from
 * the server with the right id is taken off the budget of its question.
 */
export function receive(
  inlet: Inlet,
  socket: UdpSocket<Waiting>,
  bytes: Buffer,
  source: Source,
): void {
  if (bytes.length < HEADER_OCTETS) return;
  const id = bytes.readUInt16BE(0);
  const waiting = find(socket, id);
  if (waiting === undefined || waiting.exchange.id !== id) return;
  const { server, exchange } = waiting;
  // The id alone is not enough: it has to come from where the question went.
  if (source.port !== server.port || source.address !== server.address) return;
  // Also what is no answer costs: a server could send nonsense for as long as we wait.
  if (!takeBytes(waiting.budget, bytes.length)) settle(waiting, silenceOf(waiting));
  else if (isAnswer(bytes, exchange)) useAnswer(inlet, waiting, bytes);
  else if (exchange.mixedCase && isAnswerInAnyCase(bytes, exchange)) {
    waiting.responded = true;
    askInLowerCase(inlet, waiting, exchange.edns && !isTooOld(bytes));
  }
}

function useAnswer(inlet: Inlet, waiting: Waiting, bytes: Buffer): void {
  waiting.responded = true;
  if (isTooOld(bytes) && waiting.exchange.edns) askWithoutEdns(inlet, waiting);
  else if (isTruncated(bytes)) fetchWhole(inlet, waiting);
  else settle(waiting, readAnswer(bytes, 'udp', performance.now() - waiting.askedAt));
}

function fetchWhole(inlet: Inlet, waiting: Waiting): void {
  if (!takeTcp(waiting.budget, waiting.server.address)) {
    settle(waiting, silenceOf(waiting));
    return;
  }
  leave(waiting.socket, waiting, waiting.exchange.id); // from here on TCP has its own timer
  void overTcp(inlet, waiting).then(waiting.resolve);
}

/** A truncated answer is to be ignored: without the whole one there is none (RFC 2181, 9). */
async function overTcp({ options, closing }: Inlet, waiting: Waiting): Promise<WireAnswer> {
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

/** A literal address, IPv4 or IPv6, and its port. */
export type TcpServer = { readonly address: string; readonly port: number };

/** How far one question over TCP may go. */
export type TcpOptions = {
  /** For all of it: connection, question and answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with the number of bytes of each piece before it is kept. False ends the exchange. */
  readonly take: (bytes: number) => boolean;
};

/** How much is read at once, and so by how much a server can overrun what `take` allows. */
const READ_OCTETS = 4096;

/**
 * Sends an encoded question on a connection of its own and resolves with the bytes of the first answer, without their
 * length: at most 64 KiB, as the length has two octets (RFC 1035, 4.2.2). Resolves with undefined where there is none
 * within `timeoutMs`, on any error, or once `signal` or `take` says to stop. Never rejects, and always closes the
 * connection.
 */
export function askOverTcp(
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
    /** Returns whether to go on reading. */
    function receive(length: number, buffer: Uint8Array): boolean {
      const answer = take(length) ? collect(Buffer.from(buffer.subarray(0, length))) : 'too much';
      if (answer === 'more') return true;
      settle(answer === 'too much' ? undefined : answer);
      return false;
    }

    signal.addEventListener('abort', giveUp);
    socket.on('error', giveUp);
    socket.on('close', giveUp);
    // Length and question in one write, as servers expect (RFC 7766, 8).
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(encoded.length);
    socket.write(Buffer.concat([length, encoded]));
    if (signal.aborted) giveUp();
  });
}

/** Joins pieces only where the answer may be whole, so that a server that sends single octets does not cost much. */
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
