/** Whether what a server said was right, whatever it was told. */
import { type Answer, readAnswers } from './answers.ts';
import { type Conversation, farewell, type Message } from './conversation.ts';
import { formProblem } from './form.ts';
import type { Talk } from './hold.ts';
import { orderProblem } from './order.ts';
import type { Span } from './stalls.ts';

export type Judgement = {
  /** What was wrong first, or null. Slowness is no part of it. */
  readonly problem: string | null;
  /** The final answers, for whoever counts. */
  readonly answers: readonly Answer[];
  /** The longest wait for the answer to a message that had been sent completely. */
  readonly slowest: Span;
};

/** Judges a conversation by what has come of it. */
export function judge(conversation: Conversation, talk: Talk): Judgement {
  const messages = [...conversation.messages, farewell];
  // What may stand for several requests is no HEAD, and nothing but the farewell comes after it.
  const { answers, rest, problem } = readAnswers(
    talk.received,
    (finals) => messages[finals]?.isHead ?? false,
  );
  const finals = answers.filter(({ status }) => status >= 200);
  const { kind } = conversation.delivery;
  // What the client has cut off may come to nothing.
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
    slowest: slowestOf(messages, finals, talk),
  };
}

function firstProblem(answers: readonly Answer[]): string | null {
  for (const [index, answer] of answers.entries()) {
    const problem = formProblem(answer, answer.isToHead);
    if (problem !== null) return `answer ${index}: ${problem}`;
  }
  return null;
}

function slowestOf(
  messages: readonly Message[],
  answers: readonly Answer[],
  { arrivals, sentAt }: Talk,
): Span {
  let slowest = { from: 0, to: 0 };
  let before = 0;
  for (const [index, { end }] of answers.entries()) {
    const [message, sent] = [messages[index], sentAt[index]];
    const to = arrivals.find(({ length }) => length >= end)?.at;
    if (message?.outcome === 'wild' || sent === undefined || to === undefined) break;
    // The answers of one connection come one after the other: each is waited for from the one before.
    const from = Math.max(sent, before);
    if (to - from > slowest.to - slowest.from) slowest = { from, to };
    if (message?.outcome === 'spills') break;
    before = to;
  }
  return slowest;
}
