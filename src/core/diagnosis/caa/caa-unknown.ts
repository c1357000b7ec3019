/** Text for a CAA query without an answer. */
import type { Actor } from '../finding.ts';
import { foreignName, outcomes, type Words } from '../words.ts';
import type { CaaFailure } from './caa.ts';
import { caaPlace } from './caa-place.ts';

export type CaaUnknownFinding = {
  readonly code: 'caa_unknown';
  readonly hostname: string;
  readonly name: string;
  /** As in `caa_blocks`. */
  readonly publishedAt?: string;
  readonly ours?: true;
  /**
   * Missing: the servers of the name's own zone. `resolver`: our resolvers instead. `registry`: our
   * resolvers, for a name above the registrable domain.
   */
  readonly asked?: 'resolver' | 'registry';
  /** `nxdomain` only for a top-level domain, where it cannot be correct. */
  readonly outcome: CaaFailure;
};

export function actorForUnknown(finding: CaaUnknownFinding): Actor {
  if (isOurQuestion(finding)) return 'platform';
  return finding.outcome === 'endless' ? 'customer' : 'dns_provider';
}

/** SERVFAIL or a timeout can come from the zone; a resolver that refuses is our problem. */
function isOurQuestion({ ours, asked, outcome }: CaaUnknownFinding): boolean {
  return (
    ours === true ||
    asked === 'registry' ||
    outcome === 'cut_off' ||
    (asked === 'resolver' && outcome === 'refused')
  );
}

const failures: { readonly [O in CaaFailure]: string } = {
  ...outcomes,
  endless: 'an alias loop, or a chain that is too long',
  cut_off: 'not read, because of our limits for one check',
};

export function unknownWords(finding: CaaUnknownFinding): Words {
  const { hostname, outcome, asked } = finding;
  const name = caaPlace(finding.name, finding.publishedAt);
  const by = asked === undefined ? '' : ' (from our resolvers)';
  return {
    summary:
      outcome === 'cut_off'
        ? `We could not read the CAA records of ${name} within our own limits for one check. Without them, we do not order a certificate for ${hostname}.`
        : `The CAA records of ${name} could not be read. A certificate authority must treat that as a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA query for ${name}: records, or none.`,
    found: `${name}${by}: ${failures[outcome]}`,
    action: whatToDo(finding),
  };
}

function whatToDo(finding: CaaUnknownFinding): string {
  const { ours, name, publishedAt = name, asked, outcome } = finding;
  const at = foreignName(publishedAt);
  if (ours) {
    return 'Nothing for you to do: these records are those of our target. We check again automatically.';
  }
  if (outcome === 'cut_off') {
    return `Nothing for you to do: we check again automatically. If ${at} has very many or very long CAA records, keep only those you need.`;
  }
  if (isOurQuestion(finding)) {
    const whose = asked === 'registry' ? `${at} belongs to a registry, and ` : '';
    return `Nothing for you to do: ${whose}our resolvers could not read it. We check again automatically.`;
  }
  if (outcome === 'endless') {
    return `At the DNS provider of ${at}, change the CNAME record of ${at} so that it does not lead back to itself, or delete it.`;
  }
  return asked === 'resolver'
    ? `Nothing to change yet: we check again automatically. If it lasts, ask the DNS provider of ${at} whether its servers answer CAA queries (type 257).`
    : `Ask the DNS provider of ${at} why its servers do not answer CAA queries (type 257). We check again automatically.`;
}
