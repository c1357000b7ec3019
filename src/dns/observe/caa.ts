/** The CAA climb (RFC 8659, 3). */
import { caaLevels } from '../../core/diagnosis/caa/caa.ts';
import {
  type CaaLevel,
  type CaaRecord,
  type DnsAnswer,
  isConclusive,
  recordsOf,
} from '../../core/diagnosis/observation.ts';
import { type AskName, followAliases, type NameReply } from '../servers/aliases.ts';
import { failureOf } from '../servers/reply.ts';
import { answerAt, recordsAt, shortestTtl } from '../servers/select.ts';
import { FAILURE_TTL_MS, registrableDomain, rememberMs } from '../servers/zone.ts';
import type { QueryBudget } from '../wire/budget.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { RecordType } from '../wire/records.ts';
import type { Loaded } from '../wire/shared.ts';
import type { ObservationContext, ObserverParts } from './context.ts';

/** `at`: the name where the records are published. */
type Level = { readonly answer: DnsAnswer<CaaRecord>; readonly at: string };
type Asking = {
  readonly parts: ObserverParts;
  readonly budget: QueryBudget;
  readonly answering?: ReadonlySet<string>;
};

/**
 * With the current records, every level again, as required before an order (RFC 8659, 3).
 * `recursively`: only through resolvers. Closest level first.
 */
export function climbForCaa(
  asking: Asking,
  hostname: string,
  recursively: boolean,
): Promise<readonly CaaLevel[]> {
  const ask = levelAsker(asking, hostname, { recursively, remember: false });
  return climb(hostname, (name) => lookupSet(name, ask));
}

/**
 * As if the record were in place: a subdomain's own level is the target's CAA set. `answering`:
 * servers that just answered, queried first.
 */
export async function climbAsIfPointed(
  context: ObservationContext,
  recursively: boolean,
  answering: ReadonlySet<string>,
): Promise<readonly CaaLevel[]> {
  const { hostname, apex } = context.check;
  const asking = { parts: context.parts, budget: context.budget, answering };
  const ask = levelAsker(asking, hostname, { recursively, remember: true });
  if (apex) return climb(hostname, (name) => lookupSet(name, ask));
  const { level, confirmed } = await targetLevel(context, recursively);
  if (isEnd(level)) return [shownAt(hostname, level)];
  const above = await climb(parentOf(hostname) ?? '.', (name) => lookupSet(name, ask));
  // A resolver that denies the target's CAA set must not let a higher level forbid issuance.
  const decides = recordsOf(above.at(-1)?.answer ?? null).length > 0;
  const own = decides && !confirmed ? await targetSet(context, 'zone') : level;
  return [shownAt(hostname, own), ...(isEnd(own) ? [] : above)];
}

/** At the zone's own servers. */
export async function levelAgain(context: ObservationContext, name: string): Promise<CaaLevel> {
  const { hostname, apex } = context.check;
  if (name === hostname && !apex) {
    return shownAt(name, (await targetLevel(context, false)).level);
  }
  const ask = levelAsker(context, hostname, { recursively: false, remember: true });
  return shownAt(name, await lookupSet(name, ask));
}

/** Sequential, because most climbs are short. */
async function climb(
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

function shownAt(name: string, { answer, at }: Level): CaaLevel {
  return at === name ? { name, answer } : { name, publishedAt: at, answer };
}

/** Only a proven absence continues the climb. */
function isEnd({ answer }: Level): boolean {
  return answer.kind === 'records' || !isConclusive(answer);
}

/** Behind an alias, the target's set counts, and its parents are not climbed (RFC 8659, 3). */
async function lookupSet(level: string, ask: AskName): Promise<Level> {
  const end = await followAliases(level, ask);
  const { at } = end;
  if (end.kind === 'failure') return { answer: end.failure, at };
  const answer = answerAt(end.message, at, 'CAA', ({ flags, tag, value }) => ({
    flags,
    tag,
    value,
  }));
  return { answer, at };
}

/**
 * A resolver can say that the platform's own name has no CAA set. Any other answer is confirmed at
 * the zone, as is every answer if the zone is already known.
 */
async function targetLevel(context: ObservationContext, recursively: boolean) {
  const { parts, check } = context;
  if (recursively) return { level: await targetSet(context, 'resolver'), confirmed: true };
  if (parts.authorities.knownZone(check.target) === undefined) {
    const level = await targetSet(context, 'resolver');
    if (!isEnd(level)) return { level, confirmed: false };
  }
  return { level: await targetSet(context, 'zone'), confirmed: true };
}

function targetSet(
  { parts, budget, check }: ObservationContext,
  by: 'zone' | 'resolver',
): Promise<Level> {
  const ask = by === 'zone' ? askZone : askRecursively;
  return lookupSet(check.target, (name) => ask({ parts, budget }, name, 'CAA'));
}

/** Higher levels than the customer's domain belong to registries, so resolvers answer for them. */
function levelAsker(
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

/** A set can forbid issuance, so the registry's servers confirm an existing one. */
async function askAbove(asking: Asking, name: string): Promise<NameReply> {
  const reply = await askRecursively(asking, name, 'CAA');
  const none =
    reply.kind !== 'message' || recordsAt(reply.message.answers, name, 'CAA').length === 0;
  return none ? reply : askZone(asking, name, 'CAA');
}

/** The answer stops at an alias, so `whole` is false. */
export async function askZone(
  { parts, budget, answering }: Asking,
  name: string,
  type: RecordType,
): Promise<NameReply> {
  const options = { budget, ...(answering ? { answering } : {}) };
  const reply = await parts.authoritative.ask(name, type, options);
  return reply.kind === 'message' ? { ...reply, whole: false } : reply;
}

/** Resolvers, in order, follow aliases to the end, so `whole` is true. */
export async function askRecursively(
  { parts, budget }: Asking,
  name: string,
  type: RecordType,
): Promise<NameReply> {
  const { reply } = await parts.recursive.ask(name, type, budget);
  return reply.kind === 'message' ? { ...reply, whole: true } : failureOf(reply);
}
