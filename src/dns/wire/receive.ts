/** What arrives over UDP, wanted or forged, and what is made of it. */
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
  settle,
  silenceOf,
  type Waiting,
} from './tries.ts';
import { find, leave, type Source, type UdpSocket } from './udp-sockets.ts';

/** What `receive` needs of the wire that something arrives at. */
export type Inlet = Outlet & TcpOutlet;

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

/** From here on TCP has its own timer. */
function fetchWhole(inlet: Inlet, waiting: Waiting): void {
  leave(waiting.socket, waiting, waiting.exchange.id);
  void askOverTcp(inlet, waiting).then(waiting.resolve);
}

/**
 * Asks over TCP as well, once in a check, where nothing came over UDP; whichever answers first counts. Some servers, and
 * networks before them, let nothing else through.
 */
export function tryOverTcp(inlet: Inlet, waiting: Waiting): void {
  const { budget, server, question } = waiting;
  if (waiting.responded || !mayTryTcp(budget, server)) return;
  // In lower case: nobody can slip in an answer on a connection.
  const exchange = newExchange(question, { id: inlet.random16(), edns: true, random16: null });
  void askOverTcp(inlet, { ...waiting, exchange }).then((answer) => {
    if (answer.kind !== 'timeout') settle(waiting, answer);
  });
}
