/** Limits the cost of one check, even with hostile name servers. */
import type { SocketAddress } from '../../config/config.ts';
import type { TcpConnection } from './tcp-connection.ts';

/** Messages sent (including retries and TCP), milliseconds, and bytes received. */
export type Limits = { readonly questions: number; readonly ms: number; readonly bytes: number };

/**
 * Similar to large resolvers: Unbound sends 32 queries per lookup, PowerDNS gives up after 7 s. 64
 * KiB leaves room for one answer of almost any size.
 */
export const defaultLimits: Limits = { questions: 32, ms: 7_000, bytes: 64 * 1024 };

/** The remaining budget of a check, counted down by the wire. */
export type QueryBudget = {
  /** Messages; can be Infinity. */
  questionsLeft: number;
  /** Negative once too much has arrived. */
  bytesLeft: number;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** By address and port, for all queries of the check; null: each query has its own connection. */
  readonly tcp: Map<string, TcpKnown> | null;
  /** Who takes turns with others where queries have to wait: an account's ID, or empty. */
  readonly owner: string;
};

/**
 * A server over TCP. `answers`: further queries use TCP directly. `fails`: none does. A connection is
 * expensive for both sides, so a check has one per server at a time.
 */
export type TcpKnown = {
  outcome: 'untried' | 'answers' | 'fails';
  connection: TcpConnection | undefined;
};

export type Spent = { readonly questions: number; readonly bytes: number; readonly ms: number };

export function startBudget({ questions, ms, bytes }: Limits, owner = ''): QueryBudget {
  const deadline = performance.now() + ms;
  return { questionsLeft: questions, bytesLeft: bytes, deadline, tcp: new Map(), owner };
}

/** Never negative. */
export function leftOf(limits: Limits, { questions, ms, bytes }: Spent): Limits {
  return {
    questions: Math.max(0, limits.questions - questions),
    ms: Math.max(0, limits.ms - ms),
    bytes: Math.max(0, limits.bytes - bytes),
  };
}

/** For a single query bounded only by its timeouts. */
export const unlimited: QueryBudget = {
  questionsLeft: Number.POSITIVE_INFINITY,
  bytesLeft: Number.POSITIVE_INFINITY,
  deadline: Number.POSITIVE_INFINITY,
  tcp: null,
  owner: '',
};

/** Includes any excess. */
export function spent(budget: QueryBudget, limits: Limits): Spent {
  return {
    questions: limits.questions - budget.questionsLeft,
    bytes: limits.bytes - budget.bytesLeft,
    ms: Math.round(performance.now() - (budget.deadline - limits.ms)),
  };
}

export function isSpent(budget: QueryBudget): boolean {
  return budget.questionsLeft <= 0 || isCutOff(budget, performance.now());
}

/** Even pending answers are abandoned. `now`: on the clock of performance.now(). */
export function isCutOff({ bytesLeft, deadline }: QueryBudget, now: number): boolean {
  return bytesLeft <= 0 || now >= deadline;
}

/** Call it before sending. False: do not send. */
export function takeQuestion(budget: QueryBudget): boolean {
  if (isSpent(budget)) return false;
  budget.questionsLeft--;
  return true;
}

/** Only reads, because most checks stay on UDP. */
export function usesTcp({ tcp }: QueryBudget, server: SocketAddress): boolean {
  return tcp !== null && tcp.size > 0 && tcp.get(keyOf(server))?.outcome === 'answers';
}

/** To be changed in place. */
export function tcpOf({ tcp }: QueryBudget, server: SocketAddress): TcpKnown {
  const key = keyOf(server);
  const known = tcp?.get(key) ?? { outcome: 'untried', connection: undefined };
  tcp?.set(key, known);
  return known;
}

function keyOf({ address, port }: SocketAddress): string {
  return `${address} ${port}`;
}

/** Messages that must be left before a silent server is tried over TCP. */
const LEFT_FOR_OTHERS = 8;

/** Once per server and check, and never at the expense of other servers. */
export function mayTryTcp(budget: QueryBudget, server: SocketAddress): boolean {
  if (budget.tcp === null || budget.questionsLeft <= LEFT_FOR_OTHERS) return false;
  return tcpOf(budget, server).outcome === 'untried';
}

/** False: too many, do not read them. Deducts in any case. */
export function takeBytes(budget: QueryBudget, bytes: number): boolean {
  budget.bytesLeft -= bytes;
  return budget.bytesLeft >= 0;
}

/** Ends in `ms` if that is sooner. Spends from `budget`. */
export function boundedBudget(budget: QueryBudget, ms: number): QueryBudget {
  return {
    get questionsLeft() {
      return budget.questionsLeft;
    },
    set questionsLeft(left) {
      budget.questionsLeft = left;
    },
    get bytesLeft() {
      return budget.bytesLeft;
    },
    set bytesLeft(left) {
      budget.bytesLeft = left;
    },
    tcp: budget.tcp,
    owner: budget.owner,
    deadline: Math.min(budget.deadline, performance.now() + ms),
  };
}

/** A shorter silence is not the server's fault if our own limits end the wait. */
const PATIENCE_MS = 1_000;

/** Timers can be early by this much. */
const TIMER_MS = 2;

/** Whether our own limits, not the server's silence since `askedAt`, end a wait now. */
export function isOurLimit(budget: QueryBudget, askedAt: number): boolean {
  const now = performance.now();
  const isLate = now + TIMER_MS >= budget.deadline;
  return budget.bytesLeft <= 0 || (isLate && now - askedAt < PATIENCE_MS);
}
