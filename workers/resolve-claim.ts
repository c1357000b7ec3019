/**
 * What becomes of a check that was right at an apex that another project has, too: it proves whose the name is, or says
 * which record would. Part of saving a check (check-dns.ts); reads the DNS, writes nothing itself.
 */
import type { FindingOf } from '../src/core/diagnosis/findings.ts';
import type { Answer, Observation } from '../src/core/diagnosis/observation.ts';
import { zoneBelow } from '../src/core/names/instructions.ts';
import { checkProof, type Proof, proofNameOf, proofRecordFor } from '../src/core/names/proof.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';

/** What a claim is resolved by. */
export type ClaimDeps = {
  /** The value of the TXT record that proves a host name to be this project's. */
  proofFor(projectId: string, hostname: string): string;
  /** The TXT records at a name, one answer for each server of its zone, paid from what the check has left. */
  lookupTexts(name: string, spentAlready: Observation['cost']): Promise<readonly Answer<string>[]>;
};

/** `held`: what counts in place of the check. `proven`: the DNS has proven the claimant's control. */
export type Claim =
  | { readonly kind: 'proven' }
  | {
      readonly kind: 'held';
      readonly result: {
        readonly verdict: 'wrong';
        readonly findings: readonly [FindingOf<'held_elsewhere'>];
      };
    };

/**
 * Says whether the domain's project has proven the name against its holder. Stores nothing. Never rejects for what the
 * network does.
 */
export type ResolveClaim = (
  domain: LoadedDomain,
  observation: Observation,
  holderProjectId: string,
) => Promise<Claim>;

/**
 * Asks for the record that proves the claimant's control, and resolves the claim by it. Never rejects for what the
 * network does.
 */
export function createResolveClaim(deps: ClaimDeps): ResolveClaim {
  return async (domain, observation, holderProjectId) => {
    const proof = await lookupProof(deps, domain, observation, holderProjectId);
    if (proof.seen === 'proven') return { kind: 'proven' };
    const finding = { code: 'held_elsewhere', hostname: domain.hostname, proof } as const;
    const findings = [unlessUnknown(finding, domain)] as const;
    return { kind: 'held', result: { verdict: 'wrong', findings } };
  };
}

async function lookupProof(
  { proofFor, lookupTexts }: ClaimDeps,
  { hostname, projectId }: LoadedDomain,
  observation: Observation,
  holderProjectId: string,
): Promise<Proof> {
  const claimant = proofFor(projectId, hostname);
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const answers = await lookupTexts(proofNameOf(hostname), observation.cost);
  return {
    record: proofRecordFor({ hostname, zone, value: claimant }),
    ...checkProof(answers, { claimant, holder: proofFor(holderProjectId, hostname) }),
  };
}

/** A check that could not tell takes back nothing that an earlier one has found. */
function unlessUnknown(
  finding: FindingOf<'held_elsewhere'>,
  { findings }: LoadedDomain,
): FindingOf<'held_elsewhere'> {
  if (finding.proof?.seen !== 'unknown') return finding;
  const before = findings.find((one) => one.code === 'held_elsewhere');
  return before?.proof === undefined ? finding : before;
}
