/** The finding never discloses whether the other project holds the name. */
import type { Proof, ProofSeen } from '../names/proof.ts';
import type { FamilyOf } from './finding.ts';
import { listed } from './words.ts';

export type ClaimFinding =
  /** It moves only once `proof.record` exists. */
  {
    readonly code: 'held_elsewhere';
    readonly hostname: string;
    /** The name is free now, but another account held it. */
    readonly heldBefore?: true;
    readonly proof: Proof;
  };

/** Produced by workers/checks/save-check.ts, not by an observation. */
export const claims: FamilyOf<ClaimFinding> = {
  held_elsewhere: {
    meaning: 'Another project has this apex, or this name behind a proxy, or an account had it',
    severity: 'blocks',
    actor: 'customer',
    order: 150,
    check: null,
    explain: ({ hostname, heldBefore = false, proof }) => {
      const summary = heldBefore
        ? `Another account used ${hostname} here before. Its DNS records can be left over, so they do not prove who owns it now.`
        : `Another project also has ${hostname}, or had it, and its addresses do not prove who owns it.`;
      const { type, fullName, value } = proof.record;
      return {
        summary,
        expected: `${type} ${fullName} → ${value}`,
        found: found[proof.seen](proof),
        action: actions[proof.seen](proof, hostname, heldBefore),
      };
    },
  },
};

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
  readonly [S in ProofSeen]: (proof: Proof, hostname: string, heldBefore: boolean) => string;
} = {
  proven: () => 'Nothing to do: the next check moves the name to this project.',
  missing: (proof, hostname, heldBefore) =>
    `If ${hostname} is yours: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”. Keep other TXT records there. Setup then continues at the next check.${heldBefore ? '' : ' If the other project is in your account, you can remove the name there instead.'}`,
  both: ({ record: { fullName, value } }) =>
    `Both projects’ records exist, so ownership does not change. Delete the other TXT record at ${fullName} that starts with “signpost-domain-verification=”, and keep the one with “${value}”.`,
  partial: () =>
    'No action needed in most cases. Your name servers update within minutes. We check again automatically.',
  unknown: (proof, hostname) =>
    `We check again automatically. If ${hostname} is yours and the record is not there yet: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”.`,
};
