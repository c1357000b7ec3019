/** A query over TCP (RFC 7766): after a truncated answer or none over UDP, and from then on directly. */
import type { SocketAddress } from '../../config/config.ts';
import {
  isSpent,
  type QueryBudget,
  type TcpKnown,
  takeBytes,
  takeQuestion,
  tcpOf,
} from './budget.ts';
import {
  isTooOld,
  type QueryExchange,
  readAnswer,
  type WireAnswer,
  withoutEdns,
} from './exchange.ts';
import { openTcp, type TcpConnection, type TcpEnd } from './tcp-connection.ts';
import { cutOff, silenceOf } from './tries.ts';

export type TcpOutlet = {
  readonly options: { readonly tcpTimeoutMs: number };
  readonly closing: AbortController;
};

type TcpQuery = {
  readonly exchange: QueryExchange;
  readonly server: SocketAddress;
  readonly budget: QueryBudget;
  readonly signal: AbortSignal | undefined;
  /** Of the first message, over UDP or TCP; on the clock of performance.now(). */
  readonly askedAt: number;
  /** Whether the server sent anything over UDP. */
  readonly responded: boolean;
};

/**
 * On the check's connection to the server; without EDNS if the server does not know it (RFC 6891, 7). A
 * server that never answers over TCP gets no further connection in the same check.
 */
export async function askOverTcp(outlet: TcpOutlet, asked: TcpQuery): Promise<WireAnswer> {
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
