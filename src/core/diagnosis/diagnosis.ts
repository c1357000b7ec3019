/** What an observation means: the verdict that moves a domain, and everything worth saying about it. */
import type { Verdict } from '../life/lifecycle.ts';
import type { AddressesSeen } from '../names/claim.ts';
import type { CaaAuthority } from './caa/caa-set.ts';
import { compareSeverity, type Finding, type FindingOf, rules, severities } from './findings.ts';
import { addressesSeen, type DiagnosisInput, type Expected, gather } from './input.ts';
import type { Observation } from './observation.ts';
import type { Provider } from './providers.ts';

/** What a name is measured against (input.ts). */
export type { Expected } from './input.ts';

/**
 * `findings[0]` is the headline: the first one that blocks, where any does. A verdict other than `right` always has one, so
 * that every wait has a reason to show. `provider`: who runs the zone's servers, where we know them. `addresses`: whether
 * any of them shows an address of ours at the name, the others' answers aside.
 */
export type Diagnosis = {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly addresses: AddressesSeen;
  readonly provider: Provider | null;
};

/** Diagnoses one observation of a host name; findings by severity, then as a customer would repair them. Never throws. */
export function diagnose(observation: Observation, expected: Expected): Diagnosis {
  const input = gather(observation, expected);
  const findings = rules
    .flatMap(({ severity, order, orderFor, check }) => {
      const finding = check?.(input);
      return finding === undefined ? [] : { finding, severity, order: orderFor?.(input) ?? order };
    })
    .sort((a, b) => compareSeverity(a.severity, b.severity) || a.order - b.order)
    .map(({ finding }) => finding);
  const { provider } = input;
  return {
    verdict: verdictOf(input, findings),
    findings,
    addresses: addressesSeen(input),
    provider,
  };
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

/** What a name is measured against, where any of several authorities may issue. */
export type ExpectedOfAny = Omit<Expected, 'ca'> & {
  /** At least one, the first choice first. */
  readonly authorities: readonly CaaAuthority[];
};

/** A diagnosis that some authority of several may act on. */
export type DiagnosisForAny = Diagnosis & {
  /** The places of the authorities that the CAA records forbid, in ascending order. */
  readonly forbidden: readonly number[];
};

/**
 * Diagnoses an observation for the first authority that CAA does not forbid. Where it forbids all of them it is the first
 * one's diagnosis, with the records that would allow the others in `orToAdd`. Throws where `authorities` is empty.
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
