/** What the world's resolvers make of a name whose own servers are right: DNSSEC, and what they remember. */

import { isBogus, isFilter } from './extended-errors.ts';
import type { Finding } from './findings.ts';
import { foreignText } from './hints.ts';
import { byText, type Look } from './look.ts';
import { type Answer, type ExtendedError, isConclusive, type ResolverView } from './observation.ts';
import { isOther, pointingOf, type Shown } from './pointing.ts';
import { showing } from './pointing-checks.ts';

/** Characters kept of a resolver's own words. */
const ERROR_TEXT_MAX = 200;
const MINUTE_MS = 60_000;
/** RFC 8767, 4, recommends that nobody keeps a record for longer: seven days. */
const POSITIVE_SECONDS_MAX = 604_800;
/** RFC 2308, 5, has one to three hours as sensible and one day as a problem. */
const NEGATIVE_SECONDS_MAX = 86_400;

/**
 * A resolver that checks signatures fails, and says that they are the reason: by its extended error, or, where it lists
 * none, by answering as soon as it is told not to check. One that answers all the same proves the opposite. All other
 * failures say nothing about the domain: its own servers are right, so they neither hold it up nor are worth a finding.
 */
export function dnssecBogus(look: Look): Finding | undefined {
  if (look.pointing !== 'right' || look.unregistered) return undefined;
  const honest = look.observation.world.filter(isHonest);
  const failing = honest.filter(
    (resolver) => fails(resolver, look.apex) && blamesSignatures(resolver),
  );
  if (failing.length === 0 || honest.some((resolver) => answers(resolver, look.apex))) {
    return undefined;
  }
  const { hostname } = look.expected;
  return { code: 'dnssec_bogus', hostname, zone: look.zone, errors: foreignErrors(failing) };
}

/** Resolvers that still have what was there before. They forget it by themselves. */
export function oldAnswerCached(look: Look): Finding | undefined {
  const { observation, unregistered } = look;
  // Where only resolvers were asked, what they show is all that is known: nothing is older than something else.
  if (look.pointing !== 'right' || observation.view === 'recursive' || unregistered)
    return undefined;
  const old = observation.world
    .filter(isHonest)
    .map((resolver) => ({ resolver, shown: atName(resolver, look.apex) }))
    .map((one) => ({ ...one, ...pointingOf(one.shown, look.record, observation.targetAddresses) }))
    .filter(isOther);
  if (old.length === 0) return undefined;
  const seconds = old.map(({ resolver, shown }) =>
    secondsLeft(shown, resolver.negativeTtlSeconds, look),
  );
  return {
    code: 'old_answer_cached',
    ...look.wanted,
    remembered: old.some(({ kind }) => kind === 'elsewhere') ? 'positive' : 'negative',
    resolvers: old
      .map(({ resolver, shown }) => ({ server: resolver.server, shows: showing(shown) }))
      .sort(byText(({ server, shows }) => `${server} ${shows}`)),
    until: latest(observation.at, seconds),
  };
}

/** The extended errors of some resolvers, one of each code (their texts name servers and times), fit to be stored. */
export function foreignErrors(
  resolvers: readonly { readonly errors: readonly ExtendedError[] }[],
): readonly ExtendedError[] {
  const all = resolvers.flatMap(({ errors }) => errors).sort(byText(({ text }) => text));
  const byCode = new Map(
    all.map(({ code, text }) => [code, { code, text: foreignText(text, ERROR_TEXT_MAX) }]),
  );
  return [...byCode.values()].sort((one, other) => one.code - other.code);
}

/** A resolver that filters speaks for whoever runs it, never about the domain. */
function isHonest({ errors }: ResolverView): boolean {
  return !errors.some(({ code }) => isFilter(code));
}

/** At a subdomain only the alias counts: a failure behind it would be that of our own target. */
function fails(resolver: ResolverView, apex: boolean): boolean {
  return whatCounts(resolver, apex).some(({ kind }) => kind === 'servfail');
}

function answers(resolver: ResolverView, apex: boolean): boolean {
  return !fails(resolver, apex) && whatCounts(resolver, apex).some(isConclusive);
}

function whatCounts({ cname, a, aaaa }: ResolverView, apex: boolean): readonly Answer<string>[] {
  return apex ? [a, aaaa] : [cname];
}

/** With any other error (22: no server could be reached) the second question may just have had more luck. */
function blamesSignatures({ answersUnchecked, errors }: ResolverView): boolean {
  return (
    errors.some(({ code }) => isBogus(code)) || (errors.length === 0 && answersUnchecked === true)
  );
}

/**
 * What a resolver shows at the name itself: it follows aliases to their end, so the addresses beside one, or beside one
 * that it may not have told, are those of another name.
 */
function atName({ cname, a, aaaa }: ResolverView, apex: boolean): Shown {
  const none = { kind: 'nodata' } as const;
  const behind = cname.kind === 'records' || (!apex && !isConclusive(cname));
  return { state: 'answers', cname, a: behind ? none : a, aaaa: behind ? none : aaaa };
}

/** For how long it may remember; null where nobody told. */
function secondsLeft(
  { cname, a, aaaa }: Shown,
  negativeTtlSeconds: number | null,
  { observation }: Look,
): number | null {
  const ttls = [cname, a, aaaa].flatMap((answer) =>
    answer.kind === 'records' ? answer.ttlSeconds : [],
  );
  if (ttls.length > 0) return Math.min(Math.max(...ttls), POSITIVE_SECONDS_MAX);
  // What the zone itself allows is the longest that it can be.
  const allowed = observation.servers.flatMap(({ soa }) => soa?.negativeTtlSeconds ?? []);
  const seconds = negativeTtlSeconds ?? (allowed.length > 0 ? Math.max(...allowed) : null);
  return seconds === null ? null : Math.min(seconds, NEGATIVE_SECONDS_MAX);
}

/** The latest of all, rounded up to the full minute. */
function latest(at: string, seconds: readonly (number | null)[]): string | null {
  const known = seconds.flatMap((one) => one ?? []);
  const end = Date.parse(at) + Math.max(...known) * 1_000;
  if (known.length === 0 || !Number.isFinite(end)) return null;
  return new Date(Math.ceil(end / MINUTE_MS) * MINUTE_MS).toISOString();
}
