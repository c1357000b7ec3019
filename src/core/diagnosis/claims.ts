/**
 * Ownership that the records alone do not prove. The findings never disclose whether another project
 * holds the name.
 */
import { recordFor, zoneBelow } from '../names/instructions.ts';
import { isAtApex, PROOF_PREFIX, type Proof, type ProofSeen } from '../names/proof.ts';
import type { FamilyOf } from './finding.ts';
import type { Observation } from './observation.ts';
import { passageOf } from './proxies.ts';
import { listed } from './words.ts';

/** Ways to a name that every project shares, so they do not say whose the name is. */
export type SharedRoute = 'wildcard' | 'proxy' | 'addresses';

/** `held`: another project holds the name, or has it pending. `held_before`: another one held it last. */
export type UnprovenBecause = 'held' | 'held_before' | SharedRoute;

export type ClaimFinding =
  /** It moves only once `proof.record` exists. */
  | {
      readonly code: 'held_elsewhere';
      readonly hostname: string;
      /** The name is free now, but another project held it last. */
      readonly heldBefore?: true;
      readonly proof: Proof;
    }
  | {
      readonly code: 'ownership_unproven';
      readonly hostname: string;
      /** The project's own target, to which a CNAME would prove it, too. */
      readonly target: string;
      readonly route: SharedRoute;
      readonly proof: Proof;
    };

/** Produced by workers/checks/save-check.ts, not by an observation. */
export const claims: FamilyOf<ClaimFinding> = {
  held_elsewhere: {
    meaning: 'Another project has this name, or had it, and the records do not prove whose it is',
    severity: 'blocks',
    actor: 'customer',
    order: 150,
    check: null,
    leads: 'here',
    explain: ({ hostname, heldBefore = false, proof }) => {
      const summary = heldBefore
        ? `Another project used ${hostname} here before. Its DNS records can be left over, so they do not prove who owns it now.`
        : `Another project also has ${hostname}, or had it, and its records do not prove who owns it.`;
      return { summary, ...proofWords(proof, hostname) };
    },
  },
  ownership_unproven: {
    meaning:
      'The name led here as long as it was checked, or by a wildcard, so the records do not prove whose it is',
    severity: 'blocks',
    actor: 'customer',
    order: 151,
    check: null,
    leads: 'here',
    explain: ({ hostname, target, route, proof }) => ({
      summary: summaries[route](hostname),
      ...proofWords(
        proof,
        hostname,
        isAtApex(proof.record)
          ? ''
          : `${endsWildcard(route, hostname)} Or, without a proxy, create the CNAME record of exactly ${hostname} with the value ${target}, which proves it, too.`,
      ),
    }),
  },
};

/** A name below exists then, so the wildcard no longer answers for it (RFC 4592, 2.2.2). */
function endsWildcard(route: SharedRoute, hostname: string): string {
  return route === 'addresses'
    ? ''
    : ` It ends a wildcard for ${hostname}, so also create a record of exactly ${hostname} like the wildcard's.`;
}

const summaries: { readonly [R in SharedRoute]: (hostname: string) => string } = {
  wildcard: (hostname) =>
    `${hostname} leads here by a wildcard record that covers many names, so the DNS does not prove who owns this one.`,
  proxy: (hostname) =>
    `${hostname} was behind a proxy in every check since it was added, or can be so by a wildcard. So its records do not prove who owns it.`,
  addresses: (hostname) =>
    `${hostname} had our addresses in every check since it was added. All projects share them, so they do not prove who owns it.`,
};

/**
 * Null: a CNAME to the project's own target, which proves ownership. `answersClaim`: records of the
 * name itself, so if they came after the claim, they prove it.
 */
export function sharedRouteOf(
  { hostname, target }: { readonly hostname: string; readonly target: string },
  { delegation, proxy, nearby }: Pick<Observation, 'delegation' | 'proxy' | 'nearby'>,
): { readonly route: SharedRoute; readonly answersClaim: boolean } | null {
  const zone = zoneBelow({ hostname, delegation });
  const { type } = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  const isProxied = passageOf(proxy) === 'passes';
  if (type === 'ALIAS') return { route: isProxied ? 'proxy' : 'addresses', answersClaim: true };
  if (!isProxied) return null;
  const sibling = nearby.sibling?.cname.kind;
  // A random name exists only by a wildcard. Without an answer, there can be one.
  const isWildcard = sibling === 'records' || sibling === 'nodata';
  return { route: isWildcard ? 'wildcard' : 'proxy', answersClaim: sibling === 'nxdomain' };
}

function proofWords(proof: Proof, hostname: string, otherWay = '') {
  const { type, fullName, value } = proof.record;
  return {
    expected: `${type} ${fullName} → ${value}`,
    found: found[proof.seen](proof),
    action: actions[proof.seen](proof, hostname, otherWay),
  };
}

const found: { readonly [S in ProofSeen]: (proof: Proof) => string } = {
  proven: shown,
  missing: shown,
  both: shown,
  partial: (proof) => `Not every name server of the zone has the record yet. ${shown(proof)}`,
  unknown: ({ record: { fullName } }) =>
    `No name server answered whether ${fullName} has a TXT record.`,
};

function shown({ record: { fullName }, found: values }: Proof): string {
  return values.length === 0
    ? `There is no TXT record at ${fullName}.`
    : `TXT ${fullName} → ${listed(values)}`;
}

const actions: {
  readonly [S in ProofSeen]: (proof: Proof, hostname: string, otherWay: string) => string;
} = {
  proven: () => 'Nothing to do: the next check moves the name to this project.',
  missing: (proof, hostname, otherWay) =>
    `If ${hostname} is yours: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”. Keep other TXT records there. Setup then continues at the next check.${otherWay}`,
  both: ({ record: { fullName, value } }) =>
    `Both projects’ records exist, so ownership does not change. Delete the other TXT record at ${fullName} that starts with “${PROOF_PREFIX}”, and keep the one with “${value}”.`,
  partial: () =>
    'No action needed in most cases. Your name servers update within minutes. We check again automatically.',
  unknown: (proof, hostname) =>
    `We check again automatically. If ${hostname} is yours and the record is not there yet: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”.`,
};
