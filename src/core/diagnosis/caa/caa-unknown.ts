/** The finding that a question of the climb for CAA got no answer. */
import { splitAtZone } from '../../names/zone.ts';
import { badCaa } from '../dnssec.ts';
import type { FamilyOf } from '../finding.ts';
import type { DiagnosisInput } from '../input.ts';
import { foreignName, outcomes, type Words } from '../words.ts';
import type { CaaFailure } from './caa.ts';
import { placeIn, placeOf } from './caa-place.ts';

/** That nobody could tell what CAA records a level has. */
export type CaaUnknown = {
  readonly code: 'caa_unknown';
  readonly hostname: string;
  readonly name: string;
  /** As in `caa_blocks`. */
  readonly publishedAt?: string;
  readonly ours?: true;
  /**
   * Missing: the servers of the name's own zone. `resolver`: our resolvers in their place. `registry`: our resolvers,
   * about a name above the registrable domain.
   */
  readonly asked?: 'resolver' | 'registry';
  /** The name's aliases lead in a circle, so there is nothing to answer. */
  readonly endless?: true;
  /** `nxdomain` only of a top-level domain: an answer that cannot be right. `not_asked`: our own limits came before it. */
  readonly outcome: CaaFailure;
};

/** The rule of this finding; caa-findings.ts puts it beside those of the others about CAA. */
export const caaUnknown: FamilyOf<CaaUnknown> = {
  caa_unknown: {
    meaning: 'A CAA question got no answer, so no certificate authority may issue',
    // A certificate authority must treat an unanswered CAA question as a refusal (RFC 8659, 3).
    severity: 'blocks',
    actor: 'dns_provider',
    order: 140,
    actorFor: (finding) => {
      if (isOurQuestion(finding)) return 'platform';
      return finding.endless ? 'customer' : 'dns_provider';
    },
    check: unanswered,
    explain: unknown,
  },
};

/** The climb gave no answer. While the name does not point here nothing depends on it. */
function unanswered(input: DiagnosisInput): CaaUnknown | undefined {
  const { wanted, caa, pointing } = input;
  if (caa?.kind !== 'unknown' || pointing !== 'right') return undefined;
  const { name, outcome } = caa;
  // That its signatures are rejected says more, and is said in its place.
  if (badCaa(input)?.caa?.at === name) return undefined;
  const place = placeIn(input, name, caa.publishedAt);
  const asked = askedOf(input, name);
  const endless = caa.endless ? ({ endless: true } as const) : {};
  const about = { hostname: wanted.hostname, name, ...place, ...asked, ...endless };
  return { code: 'caa_unknown', ...about, outcome };
}

/**
 * Whom the check asked about one step of the climb (src/dns/observe/caa.ts): the zone's own servers, our resolvers in their
 * place, or our resolvers about a registry's name, which none of the customer's servers answer for.
 */
function askedOf(
  { observation, wanted: { hostname } }: DiagnosisInput,
  name: string,
): { readonly asked?: 'resolver' | 'registry' } {
  const { zone } = splitAtZone(hostname);
  if (zone.endsWith(`.${name}`)) return { asked: 'registry' };
  return observation.view === 'recursive' ? { asked: 'resolver' } : {};
}

function unknown(finding: CaaUnknown): Words {
  const { hostname, outcome, asked } = finding;
  const name = placeOf(finding.name, finding.publishedAt);
  const by = asked === undefined ? '' : ', asked of our resolvers';
  return {
    summary: `The CAA records of ${name} could not be read, which a certificate authority must take for a refusal to issue for ${hostname}.`,
    expected: `An answer to the CAA question for ${name}, be it that there is no such record.`,
    found: finding.endless
      ? `The CNAME record of ${name} leads in a circle, so nobody can tell.`
      : `${name}${by}: ${outcomes[outcome]}`,
    action: whomToAsk(finding),
  };
}

/**
 * Whether it is about our own target, or our own limits or resolvers are all that has failed: those that were asked about a
 * registry's name, or decline to answer. One that fails or is silent but knows the name may only pass on what the zone does.
 */
function isOurQuestion({ ours, asked, outcome }: CaaUnknown): boolean {
  if (ours === true || outcome === 'not_asked') return true;
  return asked === 'registry' || (asked === 'resolver' && outcome === 'refused');
}

function whomToAsk(finding: CaaUnknown): string {
  const { ours, name, publishedAt = name, asked } = finding;
  const at = foreignName(publishedAt);
  if (ours) {
    return 'Nothing for you to do: these records are those of our own target. We keep asking automatically.';
  }
  if (finding.outcome === 'not_asked') {
    return 'Nothing for you to do: our own limits for one check ended it before the answer. We keep asking automatically.';
  }
  if (isOurQuestion(finding)) {
    const whose = asked === 'registry' ? `${at} is a registry’s, and ` : '';
    return `Nothing for you to do: ${whose}it is our own resolvers that could not tell. We keep asking automatically.`;
  }
  if (finding.endless) {
    return `In the zone that ${foreignName(name)} is in, change its CNAME record so that it leads to a name with an address, or delete it. We keep asking automatically.`;
  }
  return asked === 'resolver'
    ? `Nothing to change yet: we keep asking by ourselves. If it lasts, ask the DNS provider of ${at} whether its servers answer CAA questions (type 257).`
    : `Ask the DNS provider of ${at} why its servers do not answer CAA questions (type 257). We keep asking automatically.`;
}
