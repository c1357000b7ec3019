/**
 * Findings about whose a name is. A claim that its addresses do not prove reads which record does, and why; who holds a name
 * reads what others do about it. Neither reads who the other one is.
 */
import type { ProofReason } from '../names/claim.ts';
import { PROOF_PREFIX, type Proof, type ProofSeen, proofNameOf } from '../names/proof.ts';
import type { FamilyOf } from './finding.ts';
import { addressesSeen, type DiagnosisInput, unique } from './input.ts';
import { recordsOf } from './observation.ts';
import { addressRecords, listed } from './words.ts';

/** What can be said of a claim. */
export type ClaimFinding =
  /**
   * An apex that another project holds, or has pending, too: addresses do not say whose it is, so it moves nowhere until
   * `proof.record` is there. `proof` is missing in findings of before there was one.
   */
  | { readonly code: 'held_elsewhere'; readonly hostname: string; readonly proof?: Proof }
  /** An apex that points here and that nobody else has: its addresses prove nothing, for `reason`. */
  | {
      readonly code: 'proof_required';
      readonly hostname: string;
      readonly reason: Exclude<ProofReason, 'contested'>;
      readonly proof: Proof;
    }
  /** Said to the holder: another project has added the name and waits for it. */
  | { readonly code: 'claim_by_another'; readonly hostname: string }
  /** Said to the holder of an apex: proofs of other claims, or of none any more, are in its zone. At most 5. */
  | {
      readonly code: 'proof_left_over';
      readonly hostname: string;
      readonly values: readonly string[];
    }
  /** Said of a name that no project need have: it would need the TXT record as well. `addresses`: ours that it shows. */
  | {
      readonly code: 'proof_on_adding';
      readonly hostname: string;
      readonly addresses: readonly string[];
    };

/** A finding that asks for the TXT record. */
export type ProofFinding = Extract<ClaimFinding, { code: 'held_elsewhere' | 'proof_required' }>;

/** Whether a finding asks for the TXT record: the name is not the claim's until it is there. */
export function asksForProof<F extends { readonly code: string }>(
  finding: F,
): finding is Extract<F, ProofFinding> {
  return finding.code === 'held_elsewhere' || finding.code === 'proof_required';
}

/** Why the addresses do not say whose a name is, in one sentence, by the reason. */
export const whyProof: { readonly [R in ProofReason]: (hostname: string) => string } = {
  contested: (hostname) =>
    `Another project has added ${hostname}, too, and its addresses do not say whose it is.`,
  already_here: (hostname) =>
    `${hostname} led here already when it was added, so its addresses do not say who added it.`,
  held_before: (hostname) =>
    `${hostname} has led here for another project, so its addresses do not say whose it is now.`,
  lapsed: (hostname) =>
    `${hostname} led elsewhere until its certificate had expired, so its addresses do not say whose it is now.`,
};

/** The record that a claim needs beside its ALIAS, and why; `name` is relative to the zone, `ttl` in seconds. */
export type NeededProof = {
  readonly type: 'TXT';
  readonly name: string;
  readonly value: string;
  readonly ttl: 3600;
  readonly reason: ProofReason;
  /** The reason in one sentence. */
  readonly why: string;
};

/** Returns the TXT record that the findings of a domain ask for; null where none does, or before a check has said so. */
export function neededProof(findings: readonly { readonly code: string }[]): NeededProof | null {
  const finding = findings.find(asksForProof<{ readonly code: string } | ProofFinding>);
  if (finding?.proof === undefined) return null;
  const { type, name, value } = finding.proof.record;
  const reason = finding.code === 'held_elsewhere' ? 'contested' : finding.reason;
  return { type, name, value, ttl: 3600, reason, why: whyProof[reason](finding.hostname) };
}

/** The rules. Observations make the last one; workers/resolve-claim.ts and workers/warn-holder.ts the others. */
export const claims: FamilyOf<ClaimFinding> = {
  held_elsewhere: {
    meaning: 'Another project on this platform has added this apex, too',
    severity: 'blocks',
    actor: 'customer',
    order: 150,
    check: null,
    explain: ({ hostname, proof }) => {
      const summary = whyProof.contested(hostname);
      if (proof === undefined) {
        return {
          summary,
          expected: `${hostname} in one project only.`,
          found: `${hostname} is in another project, too.`,
          action: `Remove ${hostname} from the other project; it goes on here by itself. The next check shows which record proves that it is yours.`,
        };
      }
      const orElse = ' If the other project is yours, you may remove the name there instead.';
      return { summary, ...asked(proof, hostname, orElse) };
    },
  },
  proof_required: {
    meaning: 'The apex points here, but a TXT record has to say whose it is',
    severity: 'blocks',
    actor: 'customer',
    order: 151,
    check: null,
    explain: ({ hostname, reason, proof }) => ({
      summary: whyProof[reason](hostname),
      ...asked(proof, hostname, ''),
    }),
  },
  claim_by_another: {
    meaning: 'Another project on this platform has added this name and waits for it',
    severity: 'warns',
    actor: 'customer',
    order: 290,
    check: null,
    explain: ({ hostname }) => ({
      summary: `Another project has added ${hostname} and waits for it; it stays here as long as your DNS says nothing else.`,
      expected: `${hostname} in this project only.`,
      found: `${hostname} waits in another project, too.`,
      action: `Nothing, if you know of it. Otherwise make sure that nobody else can change the DNS of ${hostname}: only a record there can give the name away.`,
    }),
  },
  proof_left_over: {
    meaning: 'A TXT record in the zone proves the name to be another claim’s',
    severity: 'warns',
    actor: 'customer',
    order: 291,
    check: null,
    explain: ({ hostname, values }) => {
      const name = proofNameOf(hostname);
      const one = values.length === 1;
      return {
        summary: `${name} has ${one ? 'a TXT record' : 'TXT records'} of another claim on ${hostname}, or of one that has ended.`,
        expected: `No TXT record at ${name} that begins with “${PROOF_PREFIX}”, except your own.`,
        found: `TXT ${name} → ${listed(values)}`,
        action: `Delete ${one ? 'it' : 'them'}, unless you want to give ${hostname} to another project.`,
      };
    },
  },
  proof_on_adding: {
    meaning: 'The apex points here already: a project that adds it is asked for a TXT record, too',
    severity: 'informs',
    actor: 'customer',
    order: 292,
    check: proofOnAdding,
    explain: ({ hostname, addresses }) => ({
      summary: `${hostname} leads here already, so its addresses do not say who adds it.`,
      expected: `TXT ${proofNameOf(hostname)} → the value that is shown once it is added`,
      found: addressRecords(addresses),
      action:
        'Nothing yet. A project that adds it now is asked for this TXT record beside the other one; a project that has it already needs nothing.',
    }),
  },
};

/** Only of a check that is no claim's: a claim knows what it needs. */
function proofOnAdding(
  input: DiagnosisInput,
): (ClaimFinding & { readonly code: 'proof_on_adding' }) | undefined {
  const { apex, expected, servers, isOwn } = input;
  if (expected.isClaim !== false || !apex || addressesSeen(input) !== 'here') return undefined;
  const shown = servers.flatMap(({ view }) => [...recordsOf(view.a), ...recordsOf(view.aaaa)]);
  const addresses = unique(shown.filter(isOwn));
  return { code: 'proof_on_adding', hostname: expected.hostname, addresses };
}

/** What a finding that asks for the record says of it. `orElse`: another way out, with a blank before it. */
function asked(proof: Proof, hostname: string, orElse: string) {
  const { type, fullName, value } = proof.record;
  return {
    expected: `${type} ${fullName} → ${value}`,
    found: found[proof.seen](proof),
    action: actions[proof.seen](proof, hostname, orElse),
  };
}

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

const actions: {
  readonly [S in ProofSeen]: (proof: Proof, hostname: string, orElse: string) => string;
} = {
  proven: () => 'Nothing: the next check gives the name to this project.',
  missing: (proof, hostname, orElse) =>
    `If ${hostname} is yours: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}” beside the others, if there are any. Setup then continues at the next check.${orElse}`,
  both: ({ record: { fullName, value } }) =>
    `The other project's own record stands beside yours, so nothing moves. Delete the other TXT record at ${fullName} that begins with “${PROOF_PREFIX}”, and keep the one with “${value}”.`,
  partial: () =>
    'Usually nothing: your name servers follow each other within minutes, and we check again automatically.',
  unknown: (proof, hostname) =>
    `It is asked for again by itself. If ${hostname} is yours and the record is not there yet: create a TXT record with the name “${proof.record.name}” and exactly the value “${proof.record.value}”.`,
};
