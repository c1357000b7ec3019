/** Follows a domain by the stream of its events until it is live or has failed. Nothing is asked but when something happened. */
import type { Call, Connection } from '../client.ts';
import type { Io, Outcome } from '../command.ts';
import { listen, type StreamMessage } from '../event-source.ts';
import type { Progress } from '../progress.ts';
import { shownCheck, shownDomain, understood } from './shown.ts';
import { createStory, type Story } from './story.ts';
import type { Which } from './which.ts';

export type Followed =
  | { readonly kind: 'settled' | 'timed_out' | 'removed' }
  | { readonly kind: 'refused'; readonly refusal: Outcome };

type Connected = Extract<Connection, { readonly ok: true }>;
type With = { readonly progress: Progress; readonly io: Io; readonly signal: AbortSignal };

/** Asks for a check, and waits for what comes of it. The stream is opened first, so that nothing is missed. */
export async function follow(
  { call, open }: Connected,
  { hostname, path, projectPath }: Which,
  { progress, io, signal }: With,
): Promise<Followed> {
  const query = `hostname=${encodeURIComponent(hostname)}&checks=tell`;
  const story = createStory(progress, io);
  const step = createStep(call, path, story);
  for await (const message of listen(open, `${projectPath}/events?${query}`, signal)) {
    if (message.kind === 'away') progress.show('The service is unreachable; retrying …');
    const end = await step(message);
    if (end !== null) return end;
  }
  return { kind: 'timed_out' };
}

/** What to do with each thing heard, until one of them is the end. */
function createStep(call: Call, path: string, story: Story) {
  let isAsked = false;
  let isStale = false;

  async function ask(): Promise<Followed | null> {
    const answer = understood(await call('POST', `${path}/verify`), shownDomain);
    if (!answer.ok) return { kind: 'refused', refusal: answer.refusal };
    story.asked(answer.value);
    isAsked = true;
    return null;
  }

  async function readDomain(): Promise<Followed | null> {
    const answer = understood(await call('GET', path), shownDomain);
    isStale = !answer.ok; // then whatever is heard next is reason enough to look again
    if (answer.ok) return story.stands(answer.value) ? { kind: 'settled' } : null;
    return answer.code === 'domain_not_found' ? { kind: 'removed' } : null;
  }

  return async (message: StreamMessage): Promise<Followed | null> => {
    if (message.kind === 'refused') return message;
    if (message.kind === 'away') return null;
    if (!isAsked) return message.kind === 'opened' ? ask() : null;
    return isRelevant(message, story) || isStale ? readDomain() : null;
  };
}

/** Whether the domain may stand elsewhere now: checks alone change nothing that is not told as an event, but the first. */
function isRelevant(message: StreamMessage, story: Story): boolean {
  if (message.kind !== 'event') return message.kind === 'opened';
  if (message.type !== 'checked') return true;
  const check = shownCheck.safeParse(message.data);
  return check.success && story.checked(check.data);
}
