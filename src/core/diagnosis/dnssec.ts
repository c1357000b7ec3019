/** DNSSEC failures: validating resolvers reject the zone's answers. */
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
} from './observation.ts';
import { foreign, keeperOf, lines } from './words.ts';

export type DnssecFinding = {
  readonly code: 'dnssec_bogus';
  readonly hostname: string;
  readonly zone: string;
  /** Of the failing resolvers, one per code; can be empty. */
  readonly errors: readonly ExtendedError[];
};

export const dnssec: FamilyOf<DnssecFinding> = {
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
};

/**
 * A failing resolver must blame the signatures: by extended error, or by answering once validation
 * is disabled. Another validating resolver that answers proves the opposite.
 */
function dnssecBogus(input: DiagnosisInput): DnssecFinding | undefined {
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

/** A filter reflects the resolver's operator, not the domain. */
export function isHonest({ errors }: ResolverView): boolean {
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
