/** What one check of a host name may cost, however hostile the name servers are that it meets. */
import type { TcpConnection, TcpServer } from './tcp-connection.ts';

/**
 * The most that one check may spend: messages sent, retries and TCP included; milliseconds of wall clock; bytes received
 * from DNS servers.
 */
export type Limits = { readonly questions: number; readonly ms: number; readonly bytes: number };

/**
 * As large resolvers do: Unbound sends 32 questions for one, PowerDNS gives up after 7 s. An honest check receives a few
 * KiB; 64 KiB, our choice, leaves room for one answer of nearly any size that DNS allows. What arrives beyond that is
 * dropped unread.
 */
export const defaultLimits: Limits = { questions: 32, ms: 7_000, bytes: 64 * 1024 };

/** What a check has left. Shared by all its questions, and counted down by the wire. */
export type Budget = {
  /** Messages; may be Infinity. */
  questionsLeft: number;
  /** Below 0 once more has arrived than was allowed. */
  bytesLeft: number;
  /** On the clock of performance.now(). */
  readonly deadline: number;
  /** What the check knows of each server over TCP, by address and port; null: each question begins from nothing. */
  readonly tcp: Map<string, TcpKnown> | null;
};

/**
 * A server over TCP. `answers`: it has, so it is asked like that from now on. `fails`: it is not asked like that again.
 * A connection costs both sides far more than a datagram, so a check has one at a time to each server.
 */
export type TcpKnown = {
  outcome: 'untried' | 'answers' | 'fails';
  connection: TcpConnection | undefined;
};

/** What was used of a budget: messages sent, bytes received, and whole milliseconds since it was started. */
export type Spent = { readonly questions: number; readonly bytes: number; readonly ms: number };

/** Returns a full budget whose time runs from this call on. */
export function startBudget({ questions, ms, bytes }: Limits): Budget {
  const deadline = performance.now() + ms;
  return { questionsLeft: questions, bytesLeft: bytes, deadline, tcp: new Map() };
}

/** Returns the limits for what still belongs to a check that has spent this much; none is below 0. */
export function leftOf(limits: Limits, { questions, ms, bytes }: Spent): Limits {
  return {
    questions: Math.max(0, limits.questions - questions),
    ms: Math.max(0, limits.ms - ms),
    bytes: Math.max(0, limits.bytes - bytes),
  };
}

/** A budget without an end, for a question on its own: the timeouts are its only bound. */
export const unlimited: Budget = {
  questionsLeft: Number.POSITIVE_INFINITY,
  bytesLeft: Number.POSITIVE_INFINITY,
  deadline: Number.POSITIVE_INFINITY,
  tcp: null,
};

/** What has been spent up to now of a budget that was started with these limits; what overran them is counted, too. */
export function spent(budget: Budget, limits: Limits): Spent {
  return {
    questions: limits.questions - budget.questionsLeft,
    bytes: limits.bytes - budget.bytesLeft,
    ms: Math.round(performance.now() - (budget.deadline - limits.ms)),
  };
}

/** Whether a further question would not be sent. Bytes, time and questions count. */
export function isSpent(budget: Budget): boolean {
  return budget.questionsLeft <= 0 || isCutOff(budget, performance.now());
}

/** Whether not even the answers on their way are waited for. `now` is on the clock of performance.now(). */
export function isCutOff({ bytesLeft, deadline }: Budget, now: number): boolean {
  return bytesLeft <= 0 || now >= deadline;
}

/** Takes off one message that is about to be sent. False: the budget is spent, and it must not be sent. */
export function takeQuestion(budget: Budget): boolean {
  if (isSpent(budget)) return false;
  budget.questionsLeft--;
  return true;
}

/** Returns what the check knows of a server over TCP, to be changed in place. */
export function tcpOf({ tcp }: Budget, { address, port }: TcpServer): TcpKnown {
  const key = `${address} ${port}`;
  const known = tcp?.get(key) ?? { outcome: 'untried', connection: undefined };
  tcp?.set(key, known);
  return known;
}

/** So many messages must be left for others before a silent server is tried over TCP. Our choice: a quarter of a check's. */
const LEFT_FOR_OTHERS = 8;

/** Whether a server that is silent over UDP may be tried over TCP: once in a check, and never at the others' expense. */
export function mayTryTcp(budget: Budget, server: TcpServer): boolean {
  if (budget.tcp === null || budget.questionsLeft <= LEFT_FOR_OTHERS) return false;
  return tcpOf(budget, server).outcome === 'untried';
}

/** Takes off bytes that have arrived. False: they are too many and must not be read. They are taken off in any case. */
export function takeBytes(budget: Budget, bytes: number): boolean {
  budget.bytesLeft -= bytes;
  return budget.bytesLeft >= 0;
}

/** Returns a view of `budget` that ends `ms` from now where that is sooner. What it spends is spent of `budget`, too. */
export function boundedBudget(budget: Budget, ms: number): Budget {
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
    deadline: Math.min(budget.deadline, performance.now() + ms),
  };
}

/** Silence that is shorter than this is not a server's fault where our own limits end it. Our choice. */
export const PATIENCE_MS = 1_000;

/** By so much a timer may be early. */
const TIMER_MS = 2;

/** Whether it is our own limits, not the server's silence since `askedAt`, that ends a wait now. */
export function isOurLimit(budget: Budget, askedAt: number): boolean {
  const now = performance.now();
  const isLate = now + TIMER_MS >= budget.deadline;
  return budget.bytesLeft <= 0 || (isLate && now - askedAt < PATIENCE_MS);
}
