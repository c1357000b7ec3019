/** The finding that resolvers remember what was there before a zone was right. */

import { isHonest } from './dnssec.ts';
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput } from './input.ts';
import { isConclusive, type ResolverView } from './observation.ts';
import { isOther, pointingOf, type Shown } from './server-pointing.ts';
import { showing } from './shows.ts';
import { foreign, foreignName, lines, recordIn, type Wanted } from './words.ts';

const MINUTE_MS = 60_000;
/** RFC 8767, 4, recommends that nobody keeps a record for longer: seven days. */
const POSITIVE_SECONDS_MAX = 604_800;
/** RFC 2308, 5, has one to three hours as sensible and one day as a problem. */
const NEGATIVE_SECONDS_MAX = 86_400;

/** The zone has it right; some resolvers remember what was there before, at the longest `until` (RFC 3339). */
export type WorldFinding = Wanted & {
  readonly code: 'old_answer_cached';
  /** That there was no record, or a record of before. */
  readonly remembered: 'negative' | 'positive';
  readonly resolvers: readonly { readonly server: string; readonly shows: string }[];
  readonly until: string | null;
};

/** The rules of these findings, by code; findings.ts puts them beside those of the other families. */
export const world: FamilyOf<WorldFinding> = {
  old_answer_cached: {
    meaning: 'It is right; some resolvers remember what was before',
    severity: 'informs',
    actor: 'platform',
    order: 240,
    check: oldAnswerCached,
    explain: (finding) => {
      const { hostname, remembered, resolvers, until } = finding;
      const what = remembered === 'negative' ? 'that there was no record' : 'the record of before';
      const end = until === null ? undefined : clockTime(until);
      return {
        summary: `The DNS of ${hostname} is right; some resolvers still remember ${what}.`,
        expected: recordIn(finding),
        found: lines(
          resolvers.map(({ server, shows }) => `${foreign(server)}: ${foreignName(shows)}`),
        ),
        action: `Nothing for you to do: they forget it, ${end === undefined ? 'mostly within hours' : `at the latest at ${end}`}. Until then some visitors may not arrive here.`,
      };
    },
  },
};

/** Resolvers that still have what was there before. They forget it by themselves. */
function oldAnswerCached(
  input: DiagnosisInput,
): (WorldFinding & { readonly code: 'old_answer_cached' }) | undefined {
  const { observation, hasNoZone } = input;
  // Where only resolvers were asked, what they show is all that is known: nothing is older than something else.
  if (input.pointing !== 'right' || observation.view === 'recursive' || hasNoZone) return undefined;
  const old = observation.world
    .filter(isHonest)
    .map((resolver) => ({ resolver, shown: atName(resolver, input.apex) }))
    .map((one) => ({ ...one, ...pointingOf(one.shown, input.record, observation.targetAddresses) }))
    .filter(isOther);
  if (old.length === 0) return undefined;
  const seconds = old.map(({ resolver, shown }) =>
    secondsLeft(shown, resolver.negativeTtlSeconds, input),
  );
  return {
    code: 'old_answer_cached',
    ...input.wanted,
    remembered: old.some(({ kind }) => kind === 'elsewhere') ? 'positive' : 'negative',
    resolvers: old
      .map(({ resolver, shown }) => ({ server: resolver.server, shows: showing(shown) }))
      .sort(byText(({ server, shows }) => `${server} ${shows}`)),
    until: latest(observation.at, seconds),
  };
}

/**
 * What a resolver shows at the name itself: it follows aliases to their end, so the addresses beside one, or beside one
 * that it may not have shown, are those of another name.
 */
function atName({ cname, a, aaaa }: ResolverView, apex: boolean): Shown {
  const none = { kind: 'nodata' } as const;
  const behind = cname.kind === 'records' || (!apex && !isConclusive(cname));
  return { state: 'answers', cname, a: behind ? none : a, aaaa: behind ? none : aaaa };
}

/** For how long it may remember; null where neither it nor the zone said. */
function secondsLeft(
  { cname, a, aaaa }: Shown,
  negativeTtlSeconds: number | null,
  { observation }: DiagnosisInput,
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

/** `14:05 UTC on 2026-11-20`, rounded up to the minute; undefined for what is no time. */
function clockTime(rfc3339: string): string | undefined {
  const time = Math.ceil(Date.parse(rfc3339) / MINUTE_MS) * MINUTE_MS;
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) return undefined;
  const [date = '', clock = ''] = new Date(time).toISOString().split('T');
  return `${clock.slice(0, 5)} UTC on ${date}`;
}
