/** What arrives, wanted or forged, and what is made of it. */
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
import { askOverTcp } from './tcp.ts';
import {
  askInLowerCase,
  askWithoutEdns,
  type Outlet,
  settle,
  silenceOf,
  type Waiting,
} from './tries.ts';
import { find, leave, type Source, type UdpSocket } from './udp-sockets.ts';

/** The wire that something arrives at. */
export type Inlet = Outlet & {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

/** Settles the question whose answer this datagram is, or has it ask again; all else is ignored. */
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
