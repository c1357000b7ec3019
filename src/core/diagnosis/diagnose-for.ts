/** The judgement of a look where several certificate authorities may issue: CAA keeps back what it forbids all of them. */
import type { CaaAuthority } from './caa/caa-set.ts';
import { type Diagnosis, diagnose, type Expected } from './diagnosis.ts';
import type { Finding, FindingOf } from './findings.ts';
import type { Observation } from './observation.ts';

export type ExpectedOfAny = Omit<Expected, 'ca'> & {
  /** At least one, the first choice first. */
  readonly authorities: readonly CaaAuthority[];
};

export type DiagnosisForAny = Diagnosis & {
  /** The places of the authorities that the CAA records forbid. */
  readonly forbidden: readonly number[];
};

/**
 * Judges a look for the first authority that CAA does not forbid. Where it forbids all of them it is the first one's
 * judgement, with the records that would allow the others beside it.
 */
export function diagnoseForAny(
  observation: Observation,
  { authorities, ...expected }: ExpectedOfAny,
): DiagnosisForAny {
  const judged = authorities.map((ca) => diagnose(observation, { ...expected, ca }));
  const blocks = judged.map(({ findings }) => findings.find(isBlock));
  const forbidden = blocks.flatMap((block, index) => (block === undefined ? [] : [index]));
  const allowed = judged.find((_, index) => blocks[index] === undefined);
  if (allowed !== undefined) return { ...allowed, forbidden };
  const [first] = judged;
  if (first === undefined) throw new Error('there is no certificate authority');
  const orToAdd = blocks.slice(1).flatMap((block) => block?.toAdd ?? []);
  const told = first.findings.map((finding) =>
    isBlock(finding) && orToAdd.length > 0 ? { ...finding, orToAdd } : finding,
  );
  return { ...first, findings: told, forbidden };
}

function isBlock(finding: Finding): finding is FindingOf<'caa_blocks'> {
  return finding.code === 'caa_blocks';
}
