/** What became of a question that was sent to a server, as it is counted. */
import type { WireAnswer } from '../wire/exchange.ts';
import { rcodes } from '../wire/message.ts';

export const questionOutcomes = ['answered', 'failed', 'timeout', 'not_sent'] as const;

/**
 * `failed`: SERVFAIL or REFUSED, which say nothing about the name. `timeout`: nobody was heard in time. `not_sent`: this
 * machine could not send it.
 */
export type QuestionOutcome = (typeof questionOutcomes)[number];

/** `operator`: the registrable domain of a name server's name, or `recursive` for the resolvers that we were told to ask. */
export type CountQuestion = (operator: string, outcome: QuestionOutcome) => void;

/** As it is counted. One that was cut off by our own budget was not answered in time, either. */
export function questionOutcome(answer: WireAnswer): QuestionOutcome {
  switch (answer.kind) {
    case 'not_asked':
      return 'not_sent';
    case 'timeout':
      return 'timeout';
    case 'malformed':
      return 'answered';
    case 'response':
      return failures.has(answer.message.rcode) ? 'failed' : 'answered';
  }
}

const failures: ReadonlySet<number> = new Set([rcodes.SERVFAIL, rcodes.REFUSED]);
