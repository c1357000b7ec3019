/** What one look at a host name may cost, however hostile the name servers are that it meets. */

/** `questions` are messages sent, retries and TCP included; `ms` is wall clock; `bytes` are what DNS servers send us. */
export type Limits = { readonly questions: number; readonly ms: number; readonly bytes: number };

/**
 * As large resolvers do: Unbound sends 32 questions for one, PowerDNS gives up after 7 s. An honest look receives
 * a few KiB; 64 KiB, our choice, leaves room for one answer of nearly any size that DNS allows. What arrives beyond
 * that is dropped unread.
 */
export const defaultLimits: Limits = { questions: 32, ms: 7_000, bytes: 64 * 1024 };

/** Shared by all questions of one look, and counted down by the wire. `deadline` is on the clock of performance.now(). */
export type Budget = { questionsLeft: number; bytesLeft: number; readonly deadline: number };

/** Full, and running from now on. */
export function startBudget({ questions, ms, bytes }: Limits): Budget {
  return { questionsLeft: questions, bytesLeft: bytes, deadline: performance.now() + ms };
}

/** For who asks one question on its own: the timeouts are its only bound. */
export const unlimited: Budget = {
  questionsLeft: Number.POSITIVE_INFINITY,
  bytesLeft: Number.POSITIVE_INFINITY,
  deadline: Number.POSITIVE_INFINITY,
};

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

/** Takes off bytes that have arrived; false: they are too many, and must not be looked at. */
export function takeBytes(budget: Budget, bytes: number): boolean {
  budget.bytesLeft -= bytes;
  return budget.bytesLeft >= 0;
}
