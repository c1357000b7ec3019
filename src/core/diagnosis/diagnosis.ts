import type { Verdict } from '../life/lifecycle.ts';
import type { CaaAuthority } from './caa/caa-set.ts';
import { compareSeverity, type Finding, type FindingOf, rules, severityOf } from './findings.ts';
import { type DiagnosisInput, type Expected, gatherInput } from './input.ts';
import type { Observation } from './observation.ts';
import type { Provider } from './providers.ts';
import { isProxiedHere, passageOf } from './proxies.ts';

export type { Expected } from './input.ts';

/** `findings[0]` is the headline. A verdict other than `right` always has a finding. */
export type Diagnosis = {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly provider: Provider | null;
};

/** Sorted by severity, then in the order a customer would fix them. Never throws. */
export function diagnose(observation: Observation, expected: Expected): Diagnosis {
  const input = gatherInput(observation, expected);
  const findings = rules
    .flatMap(({ order, orderFor, check }) => {
      const finding = check?.(input);
      if (finding === undefined) return [];
      return { finding, severity: severityOf(finding), order: orderFor?.(input) ?? order };
    })
    .sort((a, b) => compareSeverity(a.severity, b.severity) || a.order - b.order)
    .map(({ finding }) => finding);
  return { verdict: verdictOf(input, findings), findings, provider: input.provider };
}

/** An unanswered CAA query blocks, but is `unknown`, so no progress is undone. */
function verdictOf(input: DiagnosisInput, findings: readonly Finding[]): Verdict {
  const blocking = findings.filter((finding) => severityOf(finding) === 'blocks');
  if (blocking.some(({ code }) => code !== 'caa_unknown')) return 'wrong';
  const passes = passageOf(input.observation.proxy) === 'passes' && isProxiedHere(input);
  const pointing = passes ? 'right' : input.pointing;
  return pointing === 'right' && blocking.length === 0 ? 'right' : 'unknown';
}

export type ExpectedOfAny = Omit<Expected, 'ca'> & {
  /** At least one CA, in order of preference. */
  readonly authorities: readonly CaaAuthority[];
};

export type DiagnosisForAny = Diagnosis & {
  /** Indexes of the CAs that the CAA records forbid, ascending. */
  readonly forbidden: readonly number[];
};

/**
 * Diagnoses for the first CA that CAA allows, otherwise for the first CA. `orToAdd` then has the
 * records for the others. Throws if `authorities` is empty.
 */
export function diagnoseForAny(
  observation: Observation,
  { authorities, ...expected }: ExpectedOfAny,
): DiagnosisForAny {
  const diagnoses = authorities.map((ca) => diagnose(observation, { ...expected, ca }));
  const blocks = diagnoses.map(({ findings }) => findings.find(isBlock));
  const forbidden = blocks.flatMap((block, index) => (block === undefined ? [] : [index]));
  const allowed = diagnoses.find((_, index) => blocks[index] === undefined);
  if (allowed !== undefined) return { ...allowed, forbidden };
  const [first] = diagnoses;
  if (first === undefined) throw new Error('there is no certificate authority');
  const orToAdd = blocks.slice(1).flatMap((block) => block?.toAdd ?? []);
  const findings = first.findings.map((finding) =>
    isBlock(finding) && orToAdd.length > 0 ? { ...finding, orToAdd } : finding,
  );
  return { ...first, findings: findings, forbidden };
}

function isBlock(finding: Finding): finding is FindingOf<'caa_blocks'> {
  return finding.code === 'caa_blocks';
}
