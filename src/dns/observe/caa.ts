/** The CAA climb (RFC 8659, 3). */
import { caaLevels } from '../../core/diagnosis/caa/caa.ts';
import {
  type CaaLevel,
  type CaaRecord,
  type DnsAnswer,
  isConclusive,
} from '../../core/diagnosis/observation.ts';
import { type AskName, followAliases, type NameReply } from '../servers/aliases.ts';
import type { AskOptions } from '../servers/authoritative.ts';
import { failureOf } from '../servers/reply.ts';
import { answerAt, recordsAt, shortestTtl } from '../servers/select.ts';
import { FAILURE_TTL_MS, registrableDomain, rememberMs } from '../servers/zone.ts';
import type { QueryBudget } from '../wire/budget.ts';
import type { Message } from '../wire/message.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { RecordType } from '../wire/records.ts';
import type { Loaded } from '../wire/shared.ts';
import type { ObserverParts } from './context.ts';

/** `at`: the name where the records are published. */
export type Level = Pick<CaaLevel, 'answer' | 'endless'> & { readonly at: string };

export type CaaAsking = Pick<AskOptions, 'answering' | 'askServer'> & {
  readonly parts: ObserverParts;
  readonly budget: QueryBudget;
};

/** Sequential, because most climbs are short. */
export async function climb(
  from: string,
  levelAt: (name: string) => Promise<Level>,
): Promise<readonly CaaLevel[]> {
  const levels: CaaLevel[] = [];
  for (const name of caaLevels(from)) {
    const level = await levelAt(name);
    // A nonexistent top level means a broken resolver, not permission. Boulder treats it the same
    // way.
    const missing = parentOf(name) === '.' && level.answer.kind === 'nxdomain';
    levels.push(shownAt(name, missing ? { ...level, answer: { kind: 'servfail' } } : level));
    if (isEnd(level)) break;
  }
  return levels;
}

export function shownAt(name: string, { at, ...level }: Level): CaaLevel {
  return at === name ? { name, ...level } : { name, publishedAt: at, ...level };
}

/** Only a proven absence continues the climb. */
export function isEnd({ answer }: Pick<Level, 'answer'>): boolean {
  return answer.kind === 'records' || !isConclusive(answer);
}

/** Behind an alias, the target's set counts, and its parents are not climbed (RFC 8659, 3). */
export async function lookupSet(level: string, ask: AskName): Promise<Level> {
  const end = await followAliases(level, ask);
  const { at } = end;
  if (end.kind === 'failure') {
    return { answer: end.failure, at, ...(end.endless && { endless: true }) };
  }
  return { answer: readSet(end.message, at), at };
}

export function readSet(message: Message, name: string): DnsAnswer<CaaRecord> {
  return answerAt(message, name, 'CAA', ({ flags, tag, value }) => ({ flags, tag, value }));
}

/** Higher levels than the customer's domain belong to registries, so resolvers answer for them. */
export function levelAsker(asking: CaaAsking, hostname: string, recursively: boolean): AskName {
  if (recursively) return (name) => askRecursively(asking, name, 'CAA');
  const own = registrableDomain(hostname);
  const { registryCaa } = asking.parts;
  return (name) => {
    const isAbove = isWithin(hostname, name) && !isWithin(name, own);
    if (!isAbove) return askZone(asking, name, 'CAA');
    return registryCaa.get(name, asking.budget, async () =>
      remembered(await askAbove(asking, name)),
    );
  };
}

function remembered(reply: NameReply): Loaded<NameReply> {
  if (reply.kind !== 'message') return { value: reply, ttlMs: FAILURE_TTL_MS, failed: true };
  const ttlSeconds = shortestTtl([...reply.message.answers, ...reply.message.authority]);
  return { value: reply, ttlMs: rememberMs(ttlSeconds), failed: false };
}

/** A set can forbid issuance, so the registry's servers confirm an existing one. */
async function askAbove(asking: CaaAsking, name: string): Promise<NameReply> {
  const reply = await askRecursively(asking, name, 'CAA');
  const none =
    reply.kind !== 'message' || recordsAt(reply.message.answers, name, 'CAA').length === 0;
  return none ? reply : askZone(asking, name, 'CAA');
}

/** The answer stops at an alias, so `whole` is false. */
export async function askZone(
  { parts, budget, answering, askServer }: CaaAsking,
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

/** Resolvers, in order, follow aliases to the end, so `whole` is true. */
export async function askRecursively(
  { parts, budget }: CaaAsking,
  name: string,
  type: RecordType,
): Promise<NameReply> {
  const { reply } = await parts.recursive.ask(name, type, budget);
  return reply.kind === 'message' ? { ...reply, whole: true } : failureOf(reply);
}
