/** The climb for CAA records (RFC 8659, 3), up to the first level that has some or cannot tell. */
import {
  type Answer,
  type CaaLevel,
  type CaaRecord,
  isConclusive,
} from '../../core/diagnosis/observation.ts';
import { type AskName, followAliases, type NameReply } from '../servers/aliases.ts';
import type { AskOptions } from '../servers/authoritative.ts';
import { failureOf } from '../servers/reply.ts';
import { answerAt, recordsAt, shortestTtl } from '../servers/select.ts';
import { FAILURE_TTL_MS, registrableDomain, rememberMs } from '../servers/zone.ts';
import type { Budget } from '../wire/budget.ts';
import type { Message } from '../wire/message.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { RecordType } from '../wire/records.ts';
import type { Loaded } from '../wire/shared.ts';
import type { Parts } from './context.ts';

/** A set, or why there is none, and the name that it is published at. */
export type Level = Pick<CaaLevel, 'answer' | 'endless'> & { readonly at: string };
/** What questions are asked with; `answering`: servers by name that have just answered, asked before others. */
export type Asking = Pick<AskOptions, 'answering' | 'askServer'> & {
  readonly parts: Parts;
  readonly budget: Budget;
};

/**
 * Makes the climb as it is now and asks every level again, as is due before an order (RFC 8659, 3). `recursively`: by
 * the replies of the resolvers alone. Levels are nearest first.
 */
export function climbForCaa(
  asking: Asking,
  hostname: string,
  recursively: boolean,
): Promise<readonly CaaLevel[]> {
  const ask = levelAsker(asking, hostname, { recursively, remember: false });
  return climb(hostname, (name) => lookupSet(name, ask));
}

/** From a name up to its top level, never the root; one question after the other, as most climbs are short. */
export async function climb(
  from: string,
  levelAt: (name: string) => Promise<Level>,
): Promise<readonly CaaLevel[]> {
  const levels: CaaLevel[] = [];
  for (let name = from; name !== '.'; name = parentOf(name) ?? '.') {
    const level = await levelAt(name);
    // A top level that does not exist is a broken resolver, not permission; Boulder sees it so, too.
    const missing = parentOf(name) === '.' && level.answer.kind === 'nxdomain';
    levels.push(shownAt(name, missing ? { ...level, answer: { kind: 'servfail' } } : level));
    if (isEnd(level)) break;
  }
  return levels;
}

/** As observations keep it. */
export function shownAt(name: string, { at, ...level }: Level): CaaLevel {
  return at === name ? { name, ...level } : { name, publishedAt: at, ...level };
}

/** Only "there is none" lets the climb go on. */
export function isEnd({ answer }: Pick<Level, 'answer'>): boolean {
  return answer.kind === 'records' || !isConclusive(answer);
}

/**
 * The set of one level. Behind an alias it counts as the level's own, and there is no climbing from the alias's
 * target (RFC 8659, 3).
 */
export async function lookupSet(level: string, ask: AskName): Promise<Level> {
  const end = await followAliases(level, ask);
  const { at } = end;
  if (end.kind === 'failure')
    return { answer: end.failure, at, ...(end.endless && { endless: true }) };
  return { answer: readSet(end.message, at), at };
}

/** What a message says about the set of one name. */
export function readSet(message: Message, name: string): Answer<CaaRecord> {
  return answerAt(message, name, 'CAA', ({ flags, tag, value }) => ({ flags, tag, value }));
}

/**
 * Levels of the customer's own domain and alias targets are asked where they are published. Those above it belong to
 * registries, which hardly ever have a set, and every climb ends there: they are asked of the recursive servers.
 */
export function levelAsker(
  asking: Asking,
  hostname: string,
  how: { readonly recursively: boolean; readonly remember: boolean },
): AskName {
  if (how.recursively) return (name) => askRecursively(asking, name, 'CAA');
  const own = registrableDomain(hostname);
  const { registryCaa } = asking.parts;
  return (name) => {
    const isAbove = isWithin(hostname, name) && !isWithin(name, own);
    if (!isAbove) return askZone(asking, name, 'CAA');
    return how.remember
      ? registryCaa.get(name, asking.budget, async () => remembered(await askAbove(asking, name)))
      : askAbove(asking, name);
  };
}

function remembered(reply: NameReply): Loaded<NameReply> {
  if (reply.kind !== 'message') return { value: reply, ttlMs: FAILURE_TTL_MS, failed: true };
  const ttlSeconds = shortestTtl([...reply.message.answers, ...reply.message.authority]);
  return { value: reply, ttlMs: rememberMs(ttlSeconds), failed: false };
}

/** That there is none can only permit. A set may forbid, so the registry's own servers are to confirm it. */
async function askAbove(asking: Asking, name: string): Promise<NameReply> {
  const reply = await askRecursively(asking, name, 'CAA');
  const none =
    reply.kind !== 'message' || recordsAt(reply.message.answers, name, 'CAA').length === 0;
  return none ? reply : askZone(asking, name, 'CAA');
}

/** Asks the zone's own servers. Their reply ends with an alias, so `whole` is false. */
export async function askZone(
  { parts, budget, answering, askServer }: Asking,
  name: string,
  type: RecordType,
): Promise<NameReply> {
  const options = {
    budget,
    ...(answering ? { answering } : {}),
    ...(askServer ? { askServer } : {}),
  };
  const reply = await parts.authoritative.ask(name, type, options);
  return reply.kind === 'message' ? { ...reply, whole: false } : reply;
}

/** Asks the resolvers in turn. A resolver follows an alias to its end, so `whole` is true. */
export async function askRecursively(
  { parts, budget }: Asking,
  name: string,
  type: RecordType,
): Promise<NameReply> {
  const { reply } = await parts.recursive.ask(name, type, budget);
  return reply.kind === 'message' ? { ...reply, whole: true } : failureOf(reply);
}
