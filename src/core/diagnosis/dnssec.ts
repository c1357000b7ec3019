/**
 * The finding that DNSSEC is broken: resolvers that check signatures reject the answers of a zone, or those about CAA alone,
 * which a certificate authority validates like any other.
 */
import { splitAtZone } from '../names/zone.ts';
import {
  bogusCause,
  describeExtendedError,
  foreignErrors,
  isBogus,
  isFilter,
} from './extended-errors.ts';
import type { Actor, FamilyOf } from './finding.ts';
import type { DiagnosisInput } from './input.ts';
import {
  type Answer,
  type ExtendedError,
  isConclusive,
  type ResolverView,
  type ValidationView,
} from './observation.ts';
import { foreign, foreignName, keeperOf, lines, type Words } from './words.ts';

/** Signatures that resolvers reject. */
export type DnssecFinding = {
  readonly code: 'dnssec_bogus';
  readonly hostname: string;
  readonly zone: string;
  /** What the failing resolvers said, one of each code; may be empty. */
  readonly errors: readonly ExtendedError[];
  /** The name whose CAA answer alone is rejected, and whether that is a denial; missing: every answer is. */
  readonly caa?: { readonly at: string; readonly isDenial: boolean };
};

/** The rule of this finding; findings.ts puts it beside those of the other families. */
export const dnssec: FamilyOf<DnssecFinding> = {
  dnssec_bogus: {
    meaning: 'Its DNSSEC is broken, so most of the world cannot see it',
    // Since 2026-03-15 every public authority validates DNSSEC (CA/Browser Forum, ballot SC-085).
    severity: 'blocks',
    actor: 'customer',
    order: 120,
    // Where other answers validate the DS record is right, and who signs is wrong.
    actorFor: ({ errors, caa }) => (caa === undefined ? bogusActor(errors) : 'dns_provider'),
    check: dnssecBogus,
    explain: (finding) =>
      finding.caa === undefined ? brokenWords(finding) : caaWords(finding, finding.caa),
  },
};

function brokenWords({ hostname, errors, ...finding }: DnssecFinding): Words {
  const zone = foreign(finding.zone);
  return {
    summary: `DNSSEC of ${zone} is broken: much of the internet refuses its answers, and no certificate can be issued for ${hostname}.`,
    expected: `Signatures of ${zone} that match the DS record at ${keeperOf(finding.zone)}, or no DS record.`,
    found:
      errors.length === 0
        ? 'Resolvers that check signatures fail; without the check they answer.'
        : `Resolvers that check signatures fail: ${lines(errors.map(describeExtendedError), '; ')}`,
    action: repairOf(errors)(zone, keeperOf(finding.zone)),
  };
}

/** The answer about CAA alone: mostly the proof that there is no such record. */
function caaWords(
  { hostname, errors, ...finding }: DnssecFinding,
  { at, isDenial }: NonNullable<DnssecFinding['caa']>,
): Words {
  const [zone, name] = [foreign(finding.zone), foreignName(at)];
  const bad = isDenial
    ? `the proof that ${name} has no CAA record does not validate`
    : `the CAA records of ${name} do not validate`;
  const why =
    errors.length === 0
      ? '; without the check they answer.'
      : `: ${lines(errors.map(describeExtendedError), '; ')}`;
  return {
    summary: `DNSSEC of ${zone} is broken in one place: ${bad}, so no certificate can be issued for ${hostname}.`,
    expected: `An answer to the CAA question for ${name} that validates${isDenial ? ', also where it says that there is no record' : ''}.`,
    found: `Other answers validate. Asked for CAA at ${name}, resolvers that check signatures fail${why}`,
    action: isDenial
      ? `Ask your DNS provider to sign ${zone} again: its proofs that a record is missing (NSEC or NSEC3) are broken, at least the one for CAA at ${name}. The DS record is right and stays. We check again automatically.`
      : `Ask your DNS provider to sign ${zone} again: the signature of the CAA records of ${name} is broken. The DS record is right and stays. We check again automatically.`,
  };
}

/**
 * A resolver that checks signatures fails, and says that they are the reason: by its extended error, or, where it lists
 * none, by answering as soon as it is asked not to check. One that answers all the same proves the opposite. All other
 * failures say nothing about the domain: its own servers are right, so they neither hold it up nor are worth a finding.
 * Where the record is wrong, resolvers were asked for the zone's SOA record in place of the host name.
 */
function dnssecBogus(input: DiagnosisInput): DnssecFinding | undefined {
  const { pointing, hasNoZone, observation, apex, expected, zone } = input;
  if (hasNoZone || pointing === 'unknown') return undefined;
  const { world, signatures = [] } = observation;
  const asked =
    pointing === 'right'
      ? world.map((one) => ofResolver(one, apex))
      : signatures.filter(({ type }) => type === 'SOA').map(ofView);
  const failing = rejected(asked);
  const { hostname } = expected;
  if (failing !== undefined) {
    return { code: 'dnssec_bogus', hostname, zone, errors: foreignErrors(failing) };
  }
  return badCaa(input);
}

/** Returns the finding about the nearest level whose CAA answer is rejected; undefined where none is. */
export function badCaa({ observation, expected, zone }: DiagnosisInput): DnssecFinding | undefined {
  const { caa, signatures = [] } = observation;
  for (const { name, publishedAt = name, answer } of caa ?? []) {
    const about = signatures.filter((one) => one.type === 'CAA' && one.name === name);
    const failing = rejected(about.map(ofView));
    if (failing === undefined) continue;
    // Where only resolvers were asked, what there is shows without the check.
    const kinds = isConclusive(answer) ? [answer.kind] : about.map(({ unchecked }) => unchecked);
    const isWithin = publishedAt === zone || publishedAt.endsWith(`.${zone}`);
    return {
      code: 'dnssec_bogus',
      hostname: expected.hostname,
      zone: isWithin ? zone : splitAtZone(publishedAt).zone,
      errors: foreignErrors(failing),
      caa: { at: name, isDenial: !kinds.includes('records') },
    };
  }
  return undefined;
}

/** What one resolver was asked, in whatever way: whether it answered, or failed, and why. */
type Validated = Pick<ResolverView, 'answersUnchecked' | 'errors'> & {
  readonly answers: boolean;
  readonly fails: boolean;
};

/** Those that reject a question for its signatures; undefined where there are none, or one answers. */
function rejected(asked: readonly Validated[]): readonly Validated[] | undefined {
  const honest = asked.filter(isHonest);
  const failing = honest.filter((one) => one.fails && blamesSignatures(one));
  return failing.length === 0 || honest.some(({ answers }) => answers) ? undefined : failing;
}

function ofResolver(resolver: ResolverView, apex: boolean): Validated {
  const { answersUnchecked, errors } = resolver;
  const counts = whatCounts(resolver, apex);
  const fails = counts.some(({ kind }) => kind === 'servfail');
  return { answersUnchecked, errors, fails, answers: !fails && counts.some(isConclusive) };
}

function ofView({ outcome, answersUnchecked, errors }: ValidationView): Validated {
  const answers = outcome === 'records' || outcome === 'nodata' || outcome === 'nxdomain';
  return { answersUnchecked, errors, answers, fails: outcome === 'servfail' };
}

/** A resolver that filters speaks for whoever runs it, never about the domain. */
export function isHonest({ errors }: Pick<ResolverView, 'errors'>): boolean {
  return !errors.some(({ code }) => isFilter(code));
}

/** At a subdomain only the alias counts: a failure behind it would be that of our own target. */
function whatCounts({ cname, a, aaaa }: ResolverView, apex: boolean): readonly Answer<string>[] {
  return apex ? [a, aaaa] : [cname];
}

/** With any other error (22: no server could be reached) the second query may just have had more luck. */
function blamesSignatures({ answersUnchecked, errors }: Validated): boolean {
  return (
    errors.some(({ code }) => isBogus(code)) || (errors.length === 0 && answersUnchecked === true)
  );
}

/** Expired, premature or incomplete signatures are made by whoever runs the zone; a DS record is the customer's. */
function bogusActor(errors: readonly ExtendedError[]): Actor {
  return bySigner.has(bogusCause(errors)?.code ?? -1) ? 'dns_provider' : 'customer';
}

/** Expired, premature and incomplete signatures, by INFO-CODE (RFC 8914). */
const bySigner: ReadonlySet<number> = new Set([7, 8, 12]);

type Repair = (zone: string, keeper: string) => string;

/** By the code of the cause; the usual one is a DS record that a former provider left behind. */
const repairs: ReadonlyMap<number, Repair> = new Map<number, Repair>([
  [7, (zone) => `Ask your DNS provider to sign ${zone} again: its signatures have run out.`],
  [
    8,
    (zone) =>
      `Ask your DNS provider to check the clock of its servers and to sign ${zone} again: its signatures begin in the future.`,
  ],
  [
    10,
    (zone, keeper) =>
      `${zone} has a DS record at ${keeper}, but its records are not signed. Delete the DS record at ${keeper} (switch DNSSEC off there), or switch signing on at your DNS provider.`,
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
  return `The usual cause is a DS record left from a former DNS provider. At ${keeper}, delete the DS record of ${zone} (switch DNSSEC off), or replace it with the one that your DNS provider shows now.`;
}
