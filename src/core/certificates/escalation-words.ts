/** Operators and customers read the same text, but only operators see names of settings. */

import type { Finding } from '../diagnosis/findings.ts';
import { explain } from '../diagnosis/findings.ts';
import { SECOND } from '../time.ts';
import { limitInWords } from './budget.ts';
import {
  type EscalationCause,
  type EscalationEvidence,
  isProxiedAway,
  isRateLimitCause,
  isUnreached,
  type Probe,
  takesBack,
} from './escalation.ts';
import { PROBE_MS } from './reach.ts';

export type EscalationReader = 'customer' | 'operator';

type Sentence = (evidence: EscalationEvidence, reader: EscalationReader) => string;

/** Not escaped for HTML. Pure. */
export function escalationWords(
  cause: EscalationCause,
  evidence: EscalationEvidence,
  reader: EscalationReader = 'customer',
): { readonly summary: string; readonly nextAction: string } {
  const summary = `${servedUntil(evidence)}${summaries[cause](evidence, reader)}`;
  return { summary, nextAction: nextActions[cause](evidence, reader) };
}

/** The effect on visitors comes first. */
function servedUntil({ servedUntil: end }: EscalationEvidence): string {
  return end === null
    ? ''
    : `The certificate expires on ${inUtc(end)} and has not been renewed. It is served until then. `;
}

export function isEscalationCause(cause: string): cause is EscalationCause {
  return Object.hasOwn(nextActions, cause);
}

const summaries: { readonly [C in EscalationCause]: Sentence } = {
  dns_changed: ({ findings, servedUntil: end }) =>
    `The DNS has changed since verification${end === null ? ', before the certificate was issued' : ''}.${summaryOf(findings.find(takesBack))}`,
  caa_blocks: (evidence) =>
    `A CAA record prevents our certificate authority from issuing.${about(evidence, 'caa_blocks')}`,
  dns_unsettled: (evidence) =>
    `The record exists, but no certificate can be issued yet.${about(evidence, 'name_servers_disagree', 'dnssec_bogus')}`,
  dns_unknown: (evidence) =>
    `We couldn’t check whether the DNS is still correct.${about(evidence, 'dns_unknown')}`,
  caa_unknown: (evidence) =>
    `The CAA query gets no answer. Certificate authorities must treat that as a refusal.${about(evidence, 'caa_unknown')}`,
  authority_rate_limited: ({ budget, problem, setback }, reader) =>
    isRateLimitCause(budget)
      ? `The certificate authority allows ${limitInWords(budget)}. That limit is reached; the next order is possible at ${inUtc(budget.until)}.`
      : `The certificate authority accepts no new order${problem?.retryAfter === undefined ? ' for now' : ` before ${inUtc(problem.retryAfter)}`}.${itsWords(problem)}${alsoSetBack(setback, reader)}`,
  challenge_unreachable: ({ findings, probes, problem }) =>
    `The certificate authority cannot fetch its challenge from the domain.${throughProxy(findings)}${perAddress(probes)}${itsWords(problem)}`,
  secondary_validation: ({ problem }) =>
    `The certificate authority reached the domain from its own network, but not from other regions of the world. Typical causes: access is blocked by country, a firewall or bot protection stops it, or a name server does not answer in one region.${itsWords(problem)}`,
  authority_refused: ({ problem, refusals }) =>
    `The certificate authority refused ${refusals > 1 ? `${refusals} orders` : 'the order'}${problem === null ? '' : ` (${problem.type})`}.${itsWords(problem)}`,
  certificate_not_shown: ({ setback }, reader) =>
    setback === null
      ? 'The edge does not serve the new certificate yet.'
      : `At ${inUtc(setback.at)} the edge did not serve the new certificate${detailOf(setback, reader)}.`,
  authority_unreachable: ({ setback }, reader) =>
    setback === null
      ? 'The certificate authority was unreachable or had not finished.'
      : `At ${inUtc(setback.at)} the certificate authority was unreachable or had not finished${detailOf(setback, reader)}.`,
  platform_fault: () =>
    'The order is stuck because of a fault in this platform, not because of the domain or the certificate authority.',
};

export const nextActions: { readonly [C in EscalationCause]: Sentence } = {
  dns_changed: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every few minutes')}; the certificate is ${obtained(evidence)} as soon as the record is correct.`,
  caa_blocks: (evidence) =>
    `The CAA records are checked ${howOften(evidence, 'every few minutes')}; the certificate is ${obtained(evidence)} as soon as they allow it.`,
  dns_unsettled: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as its name servers agree and its DNSSEC signatures are valid.`,
  dns_unknown: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as it answers.`,
  caa_unknown: (evidence) =>
    `The CAA records are checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as they answer.`,
  authority_rate_limited: (evidence) => {
    const { budget, nextAttempt } = evidence;
    if (nextAttempt?.order === 'open') return nextOrder(evidence);
    const placed = isRateLimitCause(budget) ? 'placed' : 'placed again';
    return nextAttempt === null
      ? `The order is ${placed} when the authority accepts it.`
      : `The order is ${placed} at ${inUtc(nextAttempt.at)}, when the authority accepts it.`;
  },
  challenge_unreachable: (evidence, reader) =>
    untilReached(evidence, reader) ?? nextOrder(evidence),
  secondary_validation: nextOrder,
  authority_refused: nextOrder,
  certificate_not_shown: ({ nextAttempt }) =>
    nextAttempt === null
      ? 'The edge is checked again automatically.'
      : `The edge is checked again at ${inUtc(nextAttempt.at)}, then every few minutes.`,
  authority_unreachable: nextOrder,
  platform_fault: (evidence) => afterQuarantine(evidence) ?? nextOrder(evidence),
};

function howOften({ servedUntil: end, nextAttempt }: EscalationEvidence, waiting: string): string {
  if (end === null) return waiting;
  const next = nextAttempt === null ? '' : `, next at ${inUtc(nextAttempt.at)}`;
  return `at least once an hour${next}`;
}

function obtained({ servedUntil: end }: EscalationEvidence): string {
  return end === null ? 'ordered' : 'renewed';
}

/** A quarantined job can run once early (isWorthATry); it runs again afterwards in any case. */
function afterQuarantine({ quarantine, nextAttempt }: EscalationEvidence): string | null {
  if (quarantine === null || nextAttempt === null) return null;
  const met = 'Its job failed repeatedly and was quarantined';
  return nextAttempt.at < quarantine.until
    ? `${met}. It runs once more at ${inUtc(nextAttempt.at)}. If that fails, it is quarantined again, for longer.`
    : `${met} until ${inUtc(quarantine.until)}; then it runs again.`;
}

/** An order waits while an address fails. If all fail, this machine's network can be the cause. */
function untilReached(
  { nextAttempt, probes }: EscalationEvidence,
  reader: EscalationReader,
): string | null {
  if (nextAttempt?.order === 'open' || !probes.some(isUnreached)) return null;
  const when = nextAttempt === null ? 'automatically' : `at ${inUtc(nextAttempt.at)}`;
  const asked = `The addresses are checked again ${when}, then every few minutes. The order is placed as soon as none of them fails.`;
  const isFromHereOnly = !probes.some(({ outcome }) => outcome === 'reachable');
  const remedy =
    reader === 'operator'
      ? 'set EDGE_PROBE=false'
      : 'the platform’s operator has to change its settings';
  return isFromHereOnly ? `${asked} If only our own machines cannot reach them, ${remedy}.` : asked;
}

function nextOrder({ nextAttempt }: EscalationEvidence): string {
  if (nextAttempt === null) return 'The order resumes automatically.';
  const at = inUtc(nextAttempt.at);
  if (nextAttempt.order === 'open') {
    return `The open order resumes at ${at}, then every few minutes.`;
  }
  const then =
    nextAttempt.thenAt === null
      ? ''
      : `; if it fails, the next one follows at ${inUtc(nextAttempt.thenAt)}`;
  return `A new order is placed at ${at}${then}.`;
}

function about({ findings }: EscalationEvidence, ...codes: readonly Finding['code'][]): string {
  return summaryOf(findings.find(({ code }) => codes.includes(code)));
}

function summaryOf(finding: Finding | undefined): string {
  return finding === undefined ? '' : ` ${explain(finding).summary}`;
}

/** With two CAs, the open order can be at the other one, which the detail names. */
function alsoSetBack(setback: EscalationEvidence['setback'], reader: EscalationReader): string {
  if (setback === null) return '';
  return ` The open order made no progress at ${inUtc(setback.at)}${detailOf(setback, reader)}.`;
}

/** A detail that starts with an error code names network errors or variables: for operators. */
function detailOf({ detail }: EvidenceSetback, reader: EscalationReader): string {
  const isForOperators = /^[a-z]+(?:_[a-z]+)+\b/.test(detail);
  if (reader === 'operator' || !isForOperators) return `: ${detail}`;
  return detail.startsWith('ca_misconfigured')
    ? ': it rejects the settings of this platform, which the platform’s operator has to fix'
    : '';
}

type EvidenceSetback = NonNullable<EscalationEvidence['setback']>;

function itsWords(problem: EscalationEvidence['problem']): string {
  return problem === null || problem.detail === '' ? '' : ` It says: “${problem.detail}”`;
}

/** Lists every address: a wrong AAAA record beside a correct A record is common. */
function throughProxy(findings: readonly Finding[]): string {
  const found = findings.find(isProxiedAway);
  return found === undefined ? '' : ` ${explain(found).summary}`;
}

function perAddress(probes: readonly Probe[]): string {
  const answered = probes.filter((probe) => isUnreached(probe) || probe.outcome === 'reachable');
  return answered.length === 0 ? '' : ` On ${probesInWords(answered)}.`;
}

/** `port 80, 192.0.2.1 refuses the connection; 192.0.2.2 …`. Needs at least one probe. */
export function probesInWords(probes: readonly Probe[]): string {
  const port = probes[0]?.method === 'tls-alpn-01' ? 443 : 80;
  return `port ${port}, ${probes.map((probe) => `${probe.address} ${outcomeOf(probe)}`).join('; ')}`;
}

function outcomeOf(probe: Probe): string {
  switch (probe.outcome) {
    case 'reachable':
      return 'answers correctly';
    case 'refused':
      return 'refuses the connection';
    case 'timeout':
      return `does not answer within ${PROBE_MS / SECOND} seconds`;
    case 'other_answer':
      return `is answered by something else${probe.status === null ? '' : ` (status ${probe.status})`}`;
    case 'no_route':
      return 'is unreachable from here';
    case 'reserved':
      return 'is not a public address';
  }
}

/** `2026-11-20 12:30 UTC`. */
function inUtc(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}
