/**
 * What the holder of a name is told of others: that another project waits for it, and that the proof of another claim is left
 * in its zone. Part of a check of a domain that is served (recheck-live.ts); it moves nothing. The DNS is asked only about an
 * apex that another project has held, at full checks: a claim that never held the name costs its holder no question.
 */
import { type Finding, type FindingOf, withMore } from '../src/core/diagnosis/findings.ts';
import type { Observation } from '../src/core/diagnosis/observation.ts';
import { recordFor, zoneBelow } from '../src/core/names/instructions.ts';
import { foreignProofs, proofNameOf } from '../src/core/names/proof.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { ClaimDeps } from './resolve-claim.ts';

/** Returns the findings of a check with the warnings of others among them. Never rejects for what the network does. */
export type WarnHolder = (
  domain: LoadedDomain,
  observation: Observation,
  findings: readonly Finding[],
) => Promise<readonly Finding[]>;

/** Warns of what the database says of others, and of what stands at `_signpost.<hostname>`. */
export function createWarnHolder(deps: ClaimDeps): WarnHolder {
  return async (domain, observation, findings) => {
    const { hostname, others } = domain;
    if (others === null) return findings;
    const waiting = { code: 'claim_by_another', hostname } as const;
    return withMore(findings, [
      ...(others.pending ? [waiting] : []),
      ...(others.held ? await leftOver(deps, domain, observation) : []),
    ]);
  };
}

/** A light check keeps what the full one before has found, and so does one that could not tell. */
async function leftOver(
  { proofFor, lookupTexts }: ClaimDeps,
  domain: LoadedDomain,
  observation: Observation,
): Promise<readonly FindingOf<'proof_left_over'>[]> {
  const { hostname, target } = domain;
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const { type } = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  if (type === 'CNAME') return [];
  const before = domain.findings.filter((one) => one.code === 'proof_left_over');
  if (observation === domain.observation) return before;
  const answers = await lookupTexts(proofNameOf(hostname), observation.cost);
  const values = foreignProofs(answers, proofFor(domain));
  if (values === null) return before;
  return values.length === 0 ? [] : [{ code: 'proof_left_over', hostname, values }];
}
