import type { WireAnswer } from '../wire/exchange.ts';
import { rcodes } from '../wire/message.ts';

/** Of the query metric; each starts at 0. */
export const questionOutcomes = ['answered', 'failed', 'timeout', 'not_sent'] as const;

/** `failed`: SERVFAIL or REFUSED. `not_sent`: this machine failed to send the query. */
export type QuestionOutcome = (typeof questionOutcomes)[number];

/** `operator`: as `operatorOf`, or `recursive` for the configured resolvers. */
export type CountQuestion = (operator: string, outcome: QuestionOutcome) => void;

/** Queries cut off by our own budget count as timeouts. */
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
