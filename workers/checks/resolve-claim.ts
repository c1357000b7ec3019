/**
 * An apex that another project holds, or another account held: proves ownership, or names the record that would. Part of
 * saving a check (save-check.ts); reads the DNS, writes nothing.
 */
import type { FindingOf } from '../../src/core/diagnosis/findings.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { zoneBelow } from '../../src/core/names/instructions.ts';
import { checkProof, type Proof, proofNameOf, proofRecordFor } from '../../src/core/names/proof.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { Service } from '../../src/service/service.ts';

/** `held`: replaces the check's result. */
type Claim =
  | { readonly kind: 'proven' }
  | {
      readonly kind: 'held';
      readonly result: {
        readonly verdict: 'wrong';
        readonly findings: readonly [FindingOf<'held_elsewhere'>];
      };
    };

type Asking = Pick<Service, 'observer' | 'proofFor'>;

/** What the save found. */
type Holder = { readonly holderProjectId: string; readonly heldBefore?: true };

/** Stores nothing. Never rejects on network failures. */
export async function resolveClaim(
  service: Asking,
  domain: LoadedDomain,
  observation: Observation,
  { holderProjectId, heldBefore }: Holder,
): Promise<Claim> {
  const proof = await lookupProof(service, domain, observation, holderProjectId);
  if (proof.seen === 'proven') return { kind: 'proven' };
  const { hostname } = domain;
  const before = heldBefore === true && ({ heldBefore } as const);
  const finding = { code: 'held_elsewhere', hostname, ...before, proof } as const;
  const findings = [unlessUnknown(finding, domain)] as const;
  return { kind: 'held', result: { verdict: 'wrong', findings } };
}

async function lookupProof(
  { proofFor, observer }: Asking,
  { hostname, projectId }: LoadedDomain,
  observation: Observation,
  holderProjectId: string,
): Promise<Proof> {
  const claimant = proofFor(projectId, hostname);
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const answers = await observer.lookupTexts(proofNameOf(hostname), observation.cost);
  return {
    record: proofRecordFor({ hostname, zone, value: claimant }),
    ...checkProof(answers, { claimant, holder: proofFor(holderProjectId, hostname) }),
  };
}

/** An inconclusive check keeps what an earlier one found. */
function unlessUnknown(
  finding: FindingOf<'held_elsewhere'>,
  { findings }: LoadedDomain,
): FindingOf<'held_elsewhere'> {
  if (finding.proof?.seen !== 'unknown') return finding;
  const before = findings.find((one) => one.code === 'held_elsewhere');
  return before?.proof === undefined ? finding : { ...finding, proof: before.proof };
}
