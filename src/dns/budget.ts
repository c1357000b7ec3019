/** What one look at a host name may cost, however hostile the name servers are that it meets. */
import type { SocketAddress } from '../config.ts';
import type { WireAnswer } from './exchange.ts';
import type { Question } from './message.ts';
import type { Wire } from './wire.ts';

/** `ms` is wall clock, from the first question to the last answer. */
export type Limits = { readonly questions: number; readonly ms: number };

/** As large resolvers do: Unbound sends 32 questions for one, PowerDNS gives up after 7 s. */
export const defaultLimits: Limits = { questions: 32, ms: 7_000 };

/** `deadline` is on the clock of performance.now(). */
export type Budget = { questionsLeft: number; readonly deadline: number };

/** Full, and running from now on. */
export function startBudget({ questions, ms }: Limits): Budget {
  return { questionsLeft: questions, deadline: performance.now() + ms };
}

export function isSpent({ questionsLeft, deadline }: Budget): boolean {
  return questionsLeft <= 0 || performance.now() >= deadline;
}

/** Asks one question and takes it off the budget; once that is spent, nothing is sent and the answer is a timeout. */
export async function askWithin(
  wire: Wire,
  budget: Budget,
  question: Question,
  server: SocketAddress,
): Promise<WireAnswer> {
  if (isSpent(budget)) return { kind: 'timeout' };
  budget.questionsLeft--;
  return wire.ask(question, server, { deadline: budget.deadline });
}
