/** Data that arrives over UDP, including forged data. */

import { mayTryTcp, takeBytes } from './budget.ts';
import {
  isAnswer,
  isAnswerInAnyCase,
  isTooOld,
  isTruncated,
  newExchange,
  readAnswer,
} from './exchange.ts';
import { HEADER_OCTETS } from './message.ts';
import { askOverTcp, type TcpOutlet } from './over-tcp.ts';
import {
  askInLowerCase,
  askWithoutEdns,
  type Outlet,
  type PendingQuery,
  settle,
  silenceOf,
} from './tries.ts';
import { find, leave, type Source, type UdpSocket } from './udp-sockets.ts';

export type Inlet = Outlet & TcpOutlet;

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

/** From here on, TCP has its own timer. */
function fetchWhole(inlet: Inlet, waiting: PendingQuery): void {
  leave(waiting.socket, waiting, waiting.exchange.id);
  void askOverTcp(inlet, waiting).then(waiting.resolve);
}

/**
 * For a server that is silent over UDP: some servers and networks only let TCP pass. Once per check;
 * the first answer counts.
 */
export function tryOverTcp(inlet: Inlet, waiting: PendingQuery): void {
  const { budget, server, question } = waiting;
  if (waiting.responded || !mayTryTcp(budget, server)) return;
  // In lower case: answers cannot be injected into a connection.
  const exchange = newExchange(question, { id: inlet.random16(), edns: true, random16: null });
  void askOverTcp(inlet, { ...waiting, exchange }).then((answer) => {
    if (answer.kind !== 'timeout') settle(waiting, answer);
  });
}
