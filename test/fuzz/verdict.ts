import { type Answer, readAnswers } from './answers.ts';
import { type Conversation, farewell } from './conversation.ts';
import { formProblem } from './form.ts';
import type { Talk } from './hold.ts';
import { orderProblem } from './order.ts';

export type Verdict = {
  /** The first problem, or null. */
  readonly problem: string | null;
  /** The final responses, for statistics. */
  readonly answers: readonly Answer[];
};

export function verdictOn(conversation: Conversation, talk: Talk): Verdict {
  const messages = [...conversation.messages, farewell];
  // An ambiguous message is never a HEAD, and only the farewell follows it.
  const { answers, rest, problem } = readAnswers(
    talk.received,
    (finals) => messages[finals]?.isHead ?? false,
  );
  const finals = answers.filter(({ status }) => status >= 200);
  const { kind } = conversation.delivery;
  // What the client cut off may get no response.
  const isCutOff = talk.endedBy === 'client' || kind === 'half_closed' || kind === 'aborted';
  const isWhole = !isCutOff && talk.endedBy !== 'patience';
  return {
    problem:
      problem ??
      firstProblem(answers) ??
      orderProblem(messages, answers, isWhole) ??
      (talk.endedBy === 'patience' ? 'for far too long, nothing happens' : null) ??
      (isWhole && rest !== '' ? 'the last answer is cut off' : null),
    answers: finals,
  };
}

function firstProblem(answers: readonly Answer[]): string | null {
  for (const [index, answer] of answers.entries()) {
    const problem = formProblem(answer, answer.isToHead);
    if (problem !== null) return `answer ${index}: ${problem}`;
  }
  return null;
}
