/** Limits the cost of one check, even with hostile name servers. */
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
  /** Addresses that already had their TCP query; null: unlimited. */
  readonly tcpAsked: Set<string> | null;
};

export type Spent = { readonly questions: number; readonly bytes: number; readonly ms: number };

export function startBudget({ questions, ms, bytes }: Limits): QueryBudget {
  const deadline = performance.now() + ms;
  return { questionsLeft: questions, bytesLeft: bytes, deadline, tcpAsked: new Set() };
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
  tcpAsked: null,
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

/** One per address: a server that truncates everything would get a connection per query. */
export function takeTcp(budget: QueryBudget, address: string): boolean {
  if (budget.tcpAsked?.has(address) || !takeQuestion(budget)) return false;
  budget.tcpAsked?.add(address);
  return true;
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
    tcpAsked: budget.tcpAsked,
    deadline: Math.min(budget.deadline, performance.now() + ms),
  };
}
