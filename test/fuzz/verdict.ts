import { type Answer, readAnswers } from './answers.ts';
import { type Conversation, farewell, idOf, type Message, SMUGGLED_ID } from './conversation.ts';
import { formProblem } from './form.ts';
import type { Talk } from './hold.ts';

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

/* Matches responses to messages: none missing, repeated or swapped, and a close is the end. */

/**
 * Walks along messages and responses. `isWhole`: the server closed, so everything had to be
 * answered. Returns the first problem, or null.
 */
function orderProblem(
  messages: readonly Message[],
  answers: readonly Answer[],
  isWhole: boolean,
): string | null {
  const closing = answers.findIndex(closes);
  if (closing >= 0 && closing < answers.length - 1)
    return `more after answer ${closing}, which closes`;
  const place: Place = { index: 0, hasContinued: false, isOpen: false };
  for (const [at, answer] of answers.entries()) {
    const message = messages[place.index];
    if (message?.outcome === 'wild') place.isOpen = true;
    if (place.isOpen) return surplusProblem(messages.slice(place.index), answers.slice(at));
    const problem = step(place, message, answer);
    if (problem !== null) return `answer ${at}, to message ${place.index}: ${problem}`;
  }
  const next = messages[place.index];
  const isMissing = isWhole && closing < 0 && !place.isOpen && next !== undefined;
  return isMissing && next.outcome !== 'wild' ? `message ${place.index} has no answer` : null;
}

/** The position of the walk; `isOpen`: from here on message boundaries are unknown. */
type Place = { index: number; hasContinued: boolean; isOpen: boolean };

function closes({ fields }: Answer): boolean {
  return fields.get('connection') === 'close';
}

function step(place: Place, message: Message | undefined, answer: Answer): string | null {
  if (message === undefined) return 'there is no such message';
  if (answer.status === 100) {
    if (!message.mayContinue || place.hasContinued) return 'a 100 that it did not wait for';
    place.hasContinued = true;
    return null;
  }
  const problem = misfit(message, idOf(place.index), answer);
  if (problem !== null) return problem;
  place.isOpen = message.outcome === 'spills';
  place.index += 1;
  place.hasContinued = false;
  return null;
}

function misfit(message: Message, id: string, answer: Answer): string | null {
  const { status, fields } = answer;
  const answered = fields.get('x-request-id');
  if (message.echoes && answered !== id) return `the answer is to ${answered}`;
  if (answered === SMUGGLED_ID) return 'what was in a body is answered';
  if (message.isNeverDone && status < 400) return `${status} for what may mean two things`;
  if (message.outcome !== 'refused') return null;
  if (status < 400) return `${status} for what is no HTTP`;
  return closes(answer) ? null : 'the connection is kept after what is no HTTP';
}

/** Each request head ends with an empty line; invalid input is answered once, with the end. */
function surplusProblem(messages: readonly Message[], answers: readonly Answer[]): string | null {
  const sent = messages.map(({ octets }) => octets).join('');
  const heads = sent.match(/\n\r?\n/g)?.length ?? 0;
  const finals = answers.filter(({ status }) => status >= 200).length;
  return finals > heads + 1 ? `${finals} answers to ${heads} heads` : null;
}
