/**
 * The finding about a name that another project has, too: which record proves whose it is, and how far that is. Whether
 * the other one holds it is not said.
 */
import type { Proof, ProofSeen } from '../names/proof.ts';
import type { FamilyOf } from './finding.ts';
import { listed } from './words.ts';

/** The finding about an apex that several projects have. */
export type ClaimFinding =
  /**
   * An apex that another project holds, or has pending, too: addresses do not say whose it is, so it moves nowhere until
   * `proof.record` is there. `proof` is missing in findings of before there was one.
   */
  { readonly code: 'held_elsewhere'; readonly hostname: string; readonly proof?: Proof };

/** Its rule. No observation of the DNS makes it: workers/resolve-claim.ts does. */
export const claims: FamilyOf<ClaimFinding> = {
  held_elsewhere: {
    meaning: 'Another project on this platform has added this apex, too',
    severity: 'blocks',
    actor: 'customer',
    order: 150,
    check: null,
    explain: ({ hostname, proof }) => {
      const summary = `Another project has added ${hostname}, too, and its addresses do not say whose it is.`;
      if (proof === undefined) {
        return {
          summary,
          expected: `${hostname} in one project only.`,
          found: `${hostname} is in another project, too.`,
          action: `Remove ${hostname} from the other project; it goes on here by itself. The next check shows which record proves that it is yours.`,
        };
      }
      const { type, fullName, value } = proof.record;
      return {
        summary,
        expected: `${type} ${fullName} → ${value}`,
        found: found[proof.seen](proof),
        action: actions[proof.seen](proof, hostname),
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
    `No name server said whether ${fullName} has a TXT record; nothing is known to be wrong with it.`,
};

function shown({ record: { fullName }, found: values }: Proof): string {
  return values.length === 0
    ? `There is no TXT record at ${fullName}.`
    : `TXT ${fullName} → ${listed(values)}`;
}

const actions: { readonly [S in ProofSeen]: (proof: Proof, hostname: string) => string } = {
  proven: () => 'Nothing: the next check gives the name to this project.',
  missing: (proof, hostname) =>
    `If ${hostname} is yours: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}” beside the others, if there are any. Setup then continues at the next check. If the other project is yours, you may remove the name there instead.`,
  both: ({ record: { fullName, value } }) =>
    `The other project's own record stands beside yours, so nothing moves. Delete the other TXT record at ${fullName} that begins with “signpost-domain-verification=”, and keep the one with “${value}”.`,
  partial: () =>
    'Usually nothing: your name servers follow each other within minutes, and we check again automatically.',
  unknown: (proof, hostname) =>
    `It is asked for again by itself. If ${hostname} is yours and the record is not there yet: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”.`,
};
