/** What one check of a host name may cost, however hostile the name servers are that it meets. */
/** `questions` are messages sent, retries and TCP included; `ms` is wall clock; `bytes` are what DNS servers send us. */
export type Limits = { readonly questions: number; readonly ms: number; readonly bytes: number };

/**
 * As large resolvers do: Unbound sends 32 questions for one, PowerDNS gives up after 7 s. An honest look receives
 * a few KiB; 64 KiB, our choice, leaves room for one answer of nearly any size that DNS allows. What arrives beyond
 * that is dropped unread.
 */
export const defaultLimits: Limits = { questions: 32, ms: 7_000, bytes: 64 * 1024 };

/**
 * Shared by all questions of one check, and counted down by the wire. `deadline` is on the clock of performance.now();
 * `tcpAsked` are the addresses that have had their question over TCP, null where there may be any number.
 */
export type Budget = {
  questionsLeft: number;
  bytesLeft: number;
  readonly deadline: number;
  readonly tcpAsked: Set<string> | null;
};

/** What was used of a budget: messages sent, bytes received, and whole milliseconds since it was started. */
export type Spent = { readonly questions: number; readonly bytes: number; readonly ms: number };

/** Full, and running from now on. */
export function startBudget({ questions, ms, bytes }: Limits): Budget {
  const deadline = performance.now() + ms;
  return { questionsLeft: questions, bytesLeft: bytes, deadline, tcpAsked: new Set() };
}

/** The limits of what still belongs to a check that has spent this much. */
export function leftOf(limits: Limits, { questions, ms, bytes }: Spent): Limits {
  return {
    questions: Math.max(0, limits.questions - questions),
    ms: Math.max(0, limits.ms - ms),
    bytes: Math.max(0, limits.bytes - bytes),
  };
}

/** For who asks one question on its own: the timeouts are its only bound. */
export const unlimited: Budget = {
  questionsLeft: Number.POSITIVE_INFINITY,
  bytesLeft: Number.POSITIVE_INFINITY,
  deadline: Number.POSITIVE_INFINITY,
  tcpAsked: null,
};

/** What has been spent up to now of a budget that was started with these limits; what overran them is counted, too. */
export function spent(budget: Budget, limits: Limits): Spent {
  return {
    questions: limits.questions - budget.questionsLeft,
    bytes: limits.bytes - budget.bytesLeft,
    ms: Math.round(performance.now() - (budget.deadline - limits.ms)),
  };
}

/** Whether a further question would not be sent any more. */
export function isSpent(budget: Budget): boolean {
  return budget.questionsLeft <= 0 || isCutOff(budget, performance.now());
}

/** Whether not even the answers that are under way are waited for. */
export function isCutOff({ bytesLeft, deadline }: Budget, now: number): boolean {
  return bytesLeft <= 0 || now >= deadline;
}

/** Takes off a message that is about to be sent; false: it must not be. */
export function takeQuestion(budget: Budget): boolean {
  if (isSpent(budget)) return false;
  budget.questionsLeft--;
  return true;
}

/**
 * Takes off the one question over TCP that a server may have; false: it must not be sent. A connection costs both sides
 * far more than a datagram, and a server that truncates everything would have one for each question.
 */
export function takeTcp(budget: Budget, address: string): boolean {
  if (budget.tcpAsked?.has(address) || !takeQuestion(budget)) return false;
  budget.tcpAsked?.add(address);
  return true;
}

/** Takes off bytes that have arrived; false: they are too many, and must not be read. */
export function takeBytes(budget: Budget, bytes: number): boolean {
  budget.bytesLeft -= bytes;
  return budget.bytesLeft >= 0;
}

/** Spends from `budget`, and ends `ms` from now where that is sooner. */
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
    tcpAsked: budget.tcpAsked,
    deadline: Math.min(budget.deadline, performance.now() + ms),
  };
}
