/** Old answers that resolvers cache after a zone became right. */

import { MINUTE } from '../time.ts';
import { isHonest } from './dnssec.ts';
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput } from './input.ts';
import { isConclusive, type ResolverView } from './observation.ts';
import { isOther, type PointingView, pointingOf } from './server-pointing.ts';
import { showing } from './shows.ts';
import { foreign, foreignName, lines, recordIn, type Wanted } from './words.ts';

/** RFC 8767, section 4, recommends at most seven days in a cache. */
const POSITIVE_SECONDS_MAX = 604_800;
/** RFC 2308, section 5, calls one to three hours sensible and one day a problem. */
const NEGATIVE_SECONDS_MAX = 86_400;

/** `until`: RFC 3339. */
export type WorldFinding = Wanted & {
  readonly code: 'old_answer_cached';
  /** `negative`: the cache says that no record exists. `positive`: it has an old record. */
  readonly remembered: 'negative' | 'positive';
  readonly resolvers: readonly { readonly server: string; readonly shows: string }[];
  readonly until: string | null;
};

export const world: FamilyOf<WorldFinding> = {
  old_answer_cached: {
    meaning: 'The zone is right; some resolvers have the previous answer in their cache',
    severity: 'informs',
    actor: 'platform',
    order: 240,
    check: oldAnswerCached,
    explain: (finding) => {
      const { hostname, remembered, resolvers, until } = finding;
      const what =
        remembered === 'negative' ? 'the earlier “no record” answer' : 'the previous record';
      const end = until === null ? undefined : clockTime(until);
      return {
        summary: `The DNS of ${hostname} is right. Some resolvers still cache ${what}.`,
        expected: recordIn(finding),
        found: lines(
          resolvers.map(({ server, shows }) => `${foreign(server)}: ${foreignName(shows)}`),
        ),
        action: `Nothing for you to do: it expires ${end === undefined ? 'within hours' : `by ${end}`}. Until then, some visitors cannot reach this site.`,
      };
    },
  },
};

function oldAnswerCached(input: DiagnosisInput): WorldFinding | undefined {
  const { observation, hasNoZone } = input;
  // If only resolvers were queried, no answer is known to be older than another.
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
 * Resolvers follow aliases, so addresses behind one belong to another name. A subdomain without a
 * conclusive CNAME answer is treated as an alias.
 */
function atName({ cname, a, aaaa }: ResolverView, apex: boolean): PointingView {
  const none = { kind: 'nodata' } as const;
  const behind = cname.kind === 'records' || (!apex && !isConclusive(cname));
  return { state: 'answers', cname, a: behind ? none : a, aaaa: behind ? none : aaaa };
}

/** Null if neither the resolver nor the zone says. */
function secondsLeft(
  { cname, a, aaaa }: PointingView,
  negativeTtlSeconds: number | null,
  { observation }: DiagnosisInput,
): number | null {
  const ttls = [cname, a, aaaa].flatMap((answer) =>
    answer.kind === 'records' ? answer.ttlSeconds : [],
  );
  if (ttls.length > 0) return Math.min(Math.max(...ttls), POSITIVE_SECONDS_MAX);
  // The zone's own negative TTL is the upper bound.
  const allowed = observation.servers.flatMap(({ soa }) => soa?.negativeTtlSeconds ?? []);
  const seconds = negativeTtlSeconds ?? (allowed.length > 0 ? Math.max(...allowed) : null);
  return seconds === null ? null : Math.min(seconds, NEGATIVE_SECONDS_MAX);
}

/** Rounded up to the minute; null if unknown. */
function latest(at: string, seconds: readonly (number | null)[]): string | null {
  const known = seconds.flatMap((one) => one ?? []);
  const end = Date.parse(at) + Math.max(...known) * 1_000;
  if (known.length === 0 || !Number.isFinite(end)) return null;
  return new Date(Math.ceil(end / MINUTE) * MINUTE).toISOString();
}

/** `14:05 UTC on 2026-11-20`, rounded up to the minute; undefined if invalid. */
function clockTime(rfc3339: string): string | undefined {
  const time = Math.ceil(Date.parse(rfc3339) / MINUTE) * MINUTE;
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) return undefined;
  const [date = '', clock = ''] = new Date(time).toISOString().split('T');
  return `${clock.slice(0, 5)} UTC on ${date}`;
}
