/** DNSSEC failures: validating resolvers reject the zone's answers. */
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
  type DnsAnswer,
  type ExtendedError,
  isConclusive,
  type ResolverView,
  type ValidationView,
} from './observation.ts';
import { foreign, foreignName, keeperOf, lines, type Words } from './words.ts';

export type DnssecFinding = {
  readonly code: 'dnssec_bogus';
  readonly hostname: string;
  readonly zone: string;
  /** Of the failing resolvers, one per code; can be empty. */
  readonly errors: readonly ExtendedError[];
  /** Only this CAA answer is rejected; `isDenial`: it says that there are no records. */
  readonly caa?: { readonly at: string; readonly isDenial: boolean };
};

export const dnssec: FamilyOf<DnssecFinding> = {
  dnssec_bogus: {
    meaning: 'DNSSEC is broken, so much of the internet cannot resolve it',
    // Since 2026-03-15, every public CA validates DNSSEC (CA/Browser Forum, ballot SC-085).
    severity: 'blocks',
    actor: 'customer',
    order: 120,
    // If other answers validate, the DS record is right, and the signer is at fault.
    actorFor: ({ errors, caa }) => (caa === undefined ? bogusActor(errors) : 'dns_provider'),
    check: dnssecBogus,
    explain: (finding) =>
      finding.caa === undefined ? brokenWords(finding) : caaWords(finding, finding.caa),
  },
};

function brokenWords({ hostname, errors, ...finding }: DnssecFinding): Words {
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
}

/** Mostly the proof that there is no CAA record. */
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
      ? '; without validation they answer.'
      : `: ${lines(errors.map(describeExtendedError), '; ')}`;
  return {
    summary: `DNSSEC of ${zone} is broken in one place: ${bad}, so no certificate can be issued for ${hostname}.`,
    expected: `An answer to the CAA query for ${name} that validates${isDenial ? ', also if it says that there is no record' : ''}.`,
    found: `Other answers validate. Validating resolvers fail for CAA at ${name}${why}`,
    action: `Ask your DNS provider to sign ${zone} again: ${isDenial ? `its proofs that a record is missing (NSEC or NSEC3) are broken, at least for CAA at ${name}` : `the signature of the CAA records of ${name} is broken`}. The DS record is right: keep it. We check again automatically.`,
  };
}

/**
 * A failing resolver must blame the signatures: by extended error, or by answering once validation
 * is disabled. Another validating resolver that answers proves the opposite. While the record is
 * wrong, the zone's SOA record stands for it.
 */
function dnssecBogus(input: DiagnosisInput): DnssecFinding | undefined {
  const { pointing, hasNoZone, observation, apex, expected, zone } = input;
  if (hasNoZone || pointing === 'unknown') return undefined;
  const { world, signatures = [] } = observation;
  const asked =
    pointing === 'right'
      ? world.map((one) => ofResolver(one, apex))
      : signatures.filter(({ type }) => type === 'SOA').map(ofView);
  const failing = rejecting(asked);
  if (failing.length === 0) return badCaa(input);
  return {
    code: 'dnssec_bogus',
    hostname: expected.hostname,
    zone,
    errors: foreignErrors(failing),
  };
}

/** The nearest level whose CAA answer is rejected. */
function badCaa({ observation, expected, zone }: DiagnosisInput): DnssecFinding | undefined {
  const { caa, signatures = [] } = observation;
  for (const { name, publishedAt = name, answer } of caa ?? []) {
    const about = signatures.filter((one) => one.type === 'CAA' && one.name === name);
    const failing = rejecting(about.map(ofView));
    if (failing.length === 0) continue;
    // If only resolvers were queried, the answer without validation shows what exists.
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

/** One resolver and query. */
type ResolverValidation = Pick<ResolverView, 'answersUnchecked' | 'errors'> & {
  readonly answers: boolean;
  readonly fails: boolean;
};

/** Those that reject the signatures; none if one resolver answers. */
function rejecting(asked: readonly ResolverValidation[]): readonly ResolverValidation[] {
  const honest = asked.filter(isHonest);
  if (honest.some(({ answers }) => answers)) return [];
  return honest.filter((one) => one.fails && blamesSignatures(one));
}

function ofResolver(resolver: ResolverView, apex: boolean): ResolverValidation {
  const { answersUnchecked, errors } = resolver;
  const counts = whatCounts(resolver, apex);
  const fails = counts.some(({ kind }) => kind === 'servfail');
  return { answersUnchecked, errors, fails, answers: !fails && counts.some(isConclusive) };
}

function ofView({ outcome, answersUnchecked, errors }: ValidationView): ResolverValidation {
  const answers = outcome === 'records' || outcome === 'nodata' || outcome === 'nxdomain';
  return { answersUnchecked, errors, answers, fails: outcome === 'servfail' };
}

/** A filter reflects the resolver's operator, not the domain. */
export function isHonest({ errors }: Pick<ResolverView, 'errors'>): boolean {
  return !errors.some(({ code }) => isFilter(code));
}

/** At a subdomain only the CNAME counts: a failure behind it belongs to our target. */
function whatCounts({ cname, a, aaaa }: ResolverView, apex: boolean): readonly DnsAnswer<string>[] {
  return apex ? [a, aaaa] : [cname];
}

/** After any other error, the second query can have succeeded by chance. */
function blamesSignatures({ answersUnchecked, errors }: ResolverValidation): boolean {
  return (
    errors.some(({ code }) => isBogus(code)) || (errors.length === 0 && answersUnchecked === true)
  );
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
