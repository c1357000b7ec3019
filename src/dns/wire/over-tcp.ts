/** A question over TCP (RFC 7766): where the answer over UDP was cut off, where none came, and from then on at once. */
import type { SocketAddress } from '../../config/config.ts';
import { type Budget, isSpent, type TcpKnown, takeBytes, takeQuestion, tcpOf } from './budget.ts';
import { type Exchange, isTooOld, readAnswer, type WireAnswer, withoutEdns } from './exchange.ts';
import { openTcp, type TcpConnection, type TcpEnd } from './tcp-connection.ts';
import { cutOff, silenceOf } from './tries.ts';

/** What the connections of a wire share. */
export type TcpOutlet = {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

/** A question as it is to be sent, and what it may cost. Times are on the clock of performance.now(). */
export type TcpQuestion = {
  readonly exchange: Exchange;
  readonly server: SocketAddress;
  readonly budget: Budget;
  readonly signal: AbortSignal | undefined;
  /** When the first message about it was sent, over UDP or TCP. */
  readonly askedAt: number;
  /** Whether the server has said anything about it over UDP. */
  readonly responded: boolean;
};

/**
 * Asks over the check's connection to the server, once more without EDNS where that is too new for it (RFC 6891, 7). A
 * server that gives no answer at all over TCP is not asked over it again in the same check.
 */
export async function askOverTcp(outlet: TcpOutlet, asked: TcpQuestion): Promise<WireAnswer> {
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

/**
 * The bytes of the answer, or what stands for none. A new connection is made where one was closed after an answer, as
 * servers may at any time (RFC 7766, 6.2.4).
 */
async function askWhole(outlet: TcpOutlet, asked: TcpQuestion): Promise<Buffer | WireAnswer> {
  const { exchange, server, budget, signal } = asked;
  const known = tcpOf(budget, server);
  if (known.outcome === 'fails') return silenceOf(asked);
  if (isSpent(budget)) return cutOff(asked);
  const connection = connectionTo(outlet, asked, known);
  const timeoutMs = Math.min(outlet.options.tcpTimeoutMs, budget.deadline - performance.now());
  const end = await connection.ask(exchange, {
    timeoutMs,
    signal,
    pay: () => takeQuestion(budget),
  });
  if (end === 'unpaid') return cutOff(asked);
  if (!connection.hasAnswered()) giveUp(known);
  else if (known.outcome === 'untried') known.outcome = 'answers';
  if (end === 'closed' && connection.hasAnswered()) return askWhole(outlet, asked);
  // Without a budget to remember it there is no second question.
  if (budget.tcp === null) connection.close();
  return Buffer.isBuffer(end) ? end : endOf(end, asked);
}

function connectionTo(
  { closing }: TcpOutlet,
  { server, budget }: TcpQuestion,
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

/** A truncated answer is to be ignored: without the whole one there is none (RFC 2181, 9). */
function endOf(end: Exclude<TcpEnd, Buffer | 'unpaid'>, asked: TcpQuestion): WireAnswer {
  if (end === 'malformed') return { kind: 'malformed' };
  return end === 'too_much' ? cutOff({ responded: true }) : silenceOf(asked);
}
