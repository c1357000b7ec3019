/** How public resolvers see a zone that is right: DNSSEC failures and old cached answers. */

import {
  bogusCause,
  describeExtendedError,
  foreignErrors,
  isBogus,
  isFilter,
} from './extended-errors.ts';
import type { Actor, FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput } from './input.ts';
import {
  type DnsAnswer,
  type ExtendedError,
  isConclusive,
  type ResolverView,
} from './observation.ts';
import { isOther, type PointingView, pointingOf } from './server-pointing.ts';
import { showing } from './shows.ts';
import { foreign, foreignName, keeperOf, lines, recordIn, type Wanted } from './words.ts';

const MINUTE_MS = 60_000;
/** RFC 8767, section 4, recommends at most seven days in a cache. */
const POSITIVE_SECONDS_MAX = 604_800;
/** RFC 2308, section 5, calls one to three hours sensible and one day a problem. */
const NEGATIVE_SECONDS_MAX = 86_400;

export type WorldFinding =
  | {
      readonly code: 'dnssec_bogus';
      readonly hostname: string;
      readonly zone: string;
      /** Of the failing resolvers, one per code; can be empty. */
      readonly errors: readonly ExtendedError[];
    }
  /** `until`: RFC 3339. */
  | (Wanted & {
      readonly code: 'old_answer_cached';
      /** `negative`: the cache says that no record exists. `positive`: it has an old record. */
      readonly remembered: 'negative' | 'positive';
      readonly resolvers: readonly { readonly server: string; readonly shows: string }[];
      readonly until: string | null;
    });

export const world: FamilyOf<WorldFinding> = {
  dnssec_bogus: {
    meaning: 'DNSSEC is broken, so much of the internet cannot resolve it',
    // Since 2026-03-15, every public CA validates DNSSEC (CA/Browser Forum, ballot SC-085).
    severity: 'blocks',
    actor: 'customer',
    order: 120,
    actorFor: ({ errors }) => bogusActor(errors),
    check: dnssecBogus,
    explain: ({ hostname, errors, ...finding }) => {
      const zone = foreign(finding.zone);
      return {
        summary: `DNSSEC of ${zone} is broken: much of the internet rejects its answers, and no certificate can be issued for ${hostname}.`,
        expected: `Signatures of ${zone} that match the DS record at ${keeperOf(finding.zone)}, or no DS record.`,
        found:
          errors.length === 0
            ? 'Validating resolvers fail; without validation they answer.'
            : `Validating resolvers fail: ${lines(errors.map(describeExtendedError), '; ')}`,
        action: repairOf(errors)(zone, keeperOf(finding.zone)),
      };
    },
  },
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

/**
 * A failing resolver must blame the signatures: by extended error, or by answering once validation
 * is disabled. Another validating resolver that answers proves the opposite.
 */
function dnssecBogus(
  input: DiagnosisInput,
): (WorldFinding & { readonly code: 'dnssec_bogus' }) | undefined {
  if (input.pointing !== 'right' || input.unregistered) return undefined;
  const honest = input.observation.world.filter(isHonest);
  const failing = honest.filter(
    (resolver) => fails(resolver, input.apex) && blamesSignatures(resolver),
  );
  if (failing.length === 0 || honest.some((resolver) => answers(resolver, input.apex))) {
    return undefined;
  }
  const { hostname } = input.expected;
  return { code: 'dnssec_bogus', hostname, zone: input.zone, errors: foreignErrors(failing) };
}

function oldAnswerCached(
  input: DiagnosisInput,
): (WorldFinding & { readonly code: 'old_answer_cached' }) | undefined {
  const { observation, unregistered } = input;
  // If only resolvers were queried, no answer is known to be older than another.
  if (input.pointing !== 'right' || observation.view === 'recursive' || unregistered)
    return undefined;
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

/** A filter reflects the resolver's operator, not the domain. */
function isHonest({ errors }: ResolverView): boolean {
  return !errors.some(({ code }) => isFilter(code));
}

/** At a subdomain only the CNAME counts: a failure behind it belongs to our target. */
function fails(resolver: ResolverView, apex: boolean): boolean {
  return whatCounts(resolver, apex).some(({ kind }) => kind === 'servfail');
}

function answers(resolver: ResolverView, apex: boolean): boolean {
  return !fails(resolver, apex) && whatCounts(resolver, apex).some(isConclusive);
}

function whatCounts({ cname, a, aaaa }: ResolverView, apex: boolean): readonly DnsAnswer<string>[] {
  return apex ? [a, aaaa] : [cname];
}

/** After any other error, the second query can have succeeded by chance. */
function blamesSignatures({ answersUnchecked, errors }: ResolverView): boolean {
  return (
    errors.some(({ code }) => isBogus(code)) || (errors.length === 0 && answersUnchecked === true)
  );
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
  return new Date(Math.ceil(end / MINUTE_MS) * MINUTE_MS).toISOString();
}

/** The zone's operator fixes signatures; the customer fixes a DS record. */
function bogusActor(errors: readonly ExtendedError[]): Actor {
  return bySigner.has(bogusCause(errors)?.code ?? -1) ? 'dns_provider' : 'customer';
}

/** Expired, premature and incomplete signatures (RFC 8914). */
const bySigner: ReadonlySet<number> = new Set([7, 8, 12]);

type Repair = (zone: string, keeper: string) => string;

/** The default cause is a DS record left by a former provider. */
const repairs: ReadonlyMap<number, Repair> = new Map<number, Repair>([
  [7, (zone) => `Ask your DNS provider to sign ${zone} again: its signatures have expired.`],
  [
    8,
    (zone) =>
      `Ask your DNS provider to check the clock of its servers and to sign ${zone} again: its signatures are not valid yet.`,
  ],
  [
    10,
    (zone, keeper) =>
      `${zone} has a DS record at ${keeper}, but its records are not signed. Delete the DS record at ${keeper} (turn DNSSEC off there), or turn signing on at your DNS provider.`,
  ],
  [
    12,
    (zone) =>
      `Ask your DNS provider to sign ${zone} again: its proof that a record is missing (NSEC) is broken.`,
  ],
]);

function repairOf(errors: readonly ExtendedError[]): Repair {
  return repairs.get(bogusCause(errors)?.code ?? -1) ?? replaceDs;
}

function replaceDs(zone: string, keeper: string): string {
  return `The usual cause is a DS record left from a former DNS provider. At ${keeper}, delete the DS record of ${zone} (turn DNSSEC off), or replace it with the one that your DNS provider shows now.`;
}

/** `14:05 UTC on 2026-11-20`, rounded up to the minute; undefined if invalid. */
function clockTime(rfc3339: string): string | undefined {
  const time = Math.ceil(Date.parse(rfc3339) / MINUTE_MS) * MINUTE_MS;
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) return undefined;
  const [date = '', clock = ''] = new Date(time).toISOString().split('T');
  return `${clock.slice(0, 5)} UTC on ${date}`;
}
