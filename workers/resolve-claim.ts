/**
 * What becomes of a check that was right at an apex whose addresses do not prove whose it is: the claim's TXT record proves it,
 * or a finding says which record would. Part of saving a check (check-dns.ts); reads the DNS, writes nothing itself.
 */
import type { ProofFor } from '../src/certificates/vault/derived-secrets.ts';
import { asksForProof, type ProofFinding } from '../src/core/diagnosis/claims.ts';
import type { Answer, Observation } from '../src/core/diagnosis/observation.ts';
import type { CheckResult } from '../src/core/life/check.ts';
import { zoneBelow } from '../src/core/names/instructions.ts';
import { checkProof, type Proof, proofNameOf, proofRecordFor } from '../src/core/names/proof.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { ProofNeeded } from '../src/db/domains/transitions.ts';

/** What a claim is resolved by. */
export type ClaimDeps = {
  /** The value of the TXT record that proves a host name to be a claim's. */
  readonly proofFor: ProofFor;
  /** The TXT records at a name, one answer for each server of its zone, paid from what the check has left. */
  lookupTexts(name: string, spentAlready: Observation['cost']): Promise<readonly Answer<string>[]>;
};

/** `held`: what counts in place of the check. `proven`: the DNS has proven the claimant's control. */
export type Resolved =
  | { readonly kind: 'proven' }
  | { readonly kind: 'held'; readonly result: CheckResult };

/**
 * Says whether the domain's claim has proven the name, against its rival where it has one. Stores nothing. Never rejects for
 * what the network does.
 */
export type ResolveClaim = (
  domain: LoadedDomain,
  observation: Observation,
  needed: ProofNeeded,
) => Promise<Resolved>;

/** Asks for the record that proves the claimant's control, and resolves the claim by it. */
export function createResolveClaim(deps: ClaimDeps): ResolveClaim {
  return async (domain, observation, needed) => {
    const proof = await lookupProof(deps, domain, observation, needed);
    if (proof.seen === 'proven') return { kind: 'proven' };
    const findings = [unlessUnknown(findingFor(domain, needed, proof), domain)];
    // What stands there for the holder still does so when the holder has gone.
    const addresses = needed.rival?.isHolder ? 'held' : 'here';
    return { kind: 'held', result: { verdict: 'wrong', findings, addresses } };
  };
}

function findingFor(
  { hostname }: LoadedDomain,
  { reason }: ProofNeeded,
  proof: Proof,
): ProofFinding {
  return reason === 'contested'
    ? { code: 'held_elsewhere', hostname, proof }
    : { code: 'proof_required', hostname, reason, proof };
}

async function lookupProof(
  { proofFor, lookupTexts }: ClaimDeps,
  domain: LoadedDomain,
  observation: Observation,
  { rival }: ProofNeeded,
): Promise<Proof> {
  const { hostname } = domain;
  const claimant = proofFor(domain);
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const answers = await lookupTexts(proofNameOf(hostname), observation.cost);
  return {
    record: proofRecordFor({ hostname, zone, value: claimant }),
    ...checkProof(answers, { claimant, holder: rival && proofFor(rival) }),
  };
}

/** A check that could not tell takes back nothing that an earlier one of the same claim has found. */
function unlessUnknown(finding: ProofFinding, { findings }: LoadedDomain): ProofFinding {
  if (finding.proof?.seen !== 'unknown') return finding;
  const before = findings.find(asksForProof);
  const isSame =
    before?.code === finding.code && before.proof?.record.value === finding.proof.record.value;
  return isSame ? before : finding;
}
