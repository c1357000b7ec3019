/** What an observation means: the verdict that moves a domain, and everything worth saying about it. */
import type { Verdict } from '../life/lifecycle.ts';
import type { CaaAuthority } from './caa/caa-set.ts';
import { compareSeverity, type Finding, type FindingOf, rules, severities } from './findings.ts';
import { type DiagnosisInput, type Expected, gather } from './input.ts';
import type { Observation } from './observation.ts';
import type { Provider } from './providers.ts';

export type { Expected } from './input.ts';

/**
 * `findings[0]` is the headline: the first one that blocks, where any does. A verdict other than `right` always has
 * one: nobody waits without being told what for. `provider`: who runs the zone's servers, where we know them.
 */
export type Diagnosis = {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly provider: Provider | null;
};

/** Diagnoses one observation of a host name. Pure; never throws. */
export function diagnose(observation: Observation, expected: Expected): Diagnosis {
  const input = gather(observation, expected);
  const findings = rules
    .flatMap(({ severity, order, orderFor, check }) => {
      const finding = check?.(input);
      return finding === undefined ? [] : { finding, severity, order: orderFor?.(input) ?? order };
    })
    .sort((a, b) => compareSeverity(a.severity, b.severity) || a.order - b.order)
    .map(({ finding }) => finding);
  return { verdict: verdictOf(input, findings), findings, provider: input.provider };
}

/**
 * What blocks makes it wrong. A CAA question without an answer blocks as well, but it is a refusal to the authority and
 * not something a zone said: nothing is taken back for it.
 */
function verdictOf({ pointing }: DiagnosisInput, findings: readonly Finding[]): Verdict {
  const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
  if (blocking.some(({ code }) => code !== 'caa_unknown')) return 'wrong';
  return pointing === 'right' && blocking.length === 0 ? 'right' : 'unknown';
}

export type ExpectedOfAny = Omit<Expected, 'ca'> & {
  /** At least one, the first choice first. */
  readonly authorities: readonly CaaAuthority[];
};

export type DiagnosisForAny = Diagnosis & {
  /** The places of the authorities that the CAA records forbid. */
  readonly forbidden: readonly number[];
};

/**
 * Judges a check for the first authority that CAA does not forbid. Where it forbids all of them it is the first one's
 * judgement, with the records that would allow the others beside it.
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
