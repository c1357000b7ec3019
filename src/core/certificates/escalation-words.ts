/**
 * An open escalation in words: what is wrong, and what happens next by itself. Operator and customer read the same ones, but
 * for what is set on the platform: an operator reads which setting, a customer that it is the operator's to do.
 */

import type { Finding } from '../diagnosis/findings.ts';
import { explain } from '../diagnosis/findings.ts';
import { limitInWords } from './budget.ts';
import {
  type EscalationCause,
  type EscalationEvidence,
  isSpent,
  isUnreached,
  type Probe,
  takesBack,
} from './escalation.ts';

/** Whom the words are for; only an operator reads the names of settings. */
export type Reader = 'customer' | 'operator';

type Sentence = (evidence: EscalationEvidence, reader: Reader) => string;

/** Returns sentences made of the cause and the evidence alone; not escaped for HTML. Pure. */
export function escalationWords(
  cause: EscalationCause,
  evidence: EscalationEvidence,
  reader: Reader = 'customer',
): { readonly summary: string; readonly nextAction: string } {
  const summary = `${servedUntil(evidence)}${summaries[cause](evidence, reader)}`;
  return { summary, nextAction: nextActions[cause](evidence, reader) };
}

/** What it means for visitors comes first. */
function servedUntil({ servedUntil: end }: EscalationEvidence): string {
  return end === null
    ? ''
    : `The certificate ends on ${inUtc(end)} and has not been renewed; the old one is served until then. `;
}

/** Whether a stored cause is one that this version has words for. */
export function isEscalationCause(cause: string): cause is EscalationCause {
  return Object.hasOwn(nextActions, cause);
}

/** What is wrong, by cause; it stands after what `servedUntil` says. */
const summaries: { readonly [C in EscalationCause]: Sentence } = {
  dns_changed: ({ findings, servedUntil: end }) =>
    `The DNS has changed since it was verified${end === null ? ', before the certificate came' : ''}.${summaryOf(findings.find(takesBack))}`,
  caa_blocks: (evidence) =>
    `A CAA record keeps our certificate authority from issuing.${about(evidence, 'caa_blocks')}`,
  dns_unsettled: (evidence) =>
    `The record is there, but no certificate can be issued yet.${about(evidence, 'name_servers_disagree', 'dnssec_bogus')}`,
  dns_unknown: (evidence) =>
    `We couldn’t check whether the DNS is still right.${about(evidence, 'dns_unknown')}`,
  caa_unknown: (evidence) =>
    `The CAA question gets no answer, which an authority must take for a refusal.${about(evidence, 'caa_unknown')}`,
  authority_rate_limited: ({ budget, problem, setback }, reader) =>
    isSpent(budget)
      ? `The certificate authority allows ${limitInWords(budget)}, and they are used up: no new order can be placed before ${inUtc(budget.until)}.`
      : `The certificate authority allows no new order${problem?.retryAfter === undefined ? ' for now' : ` before ${inUtc(problem.retryAfter)}`}.${itsWords(problem)}${alsoSetBack(setback, reader)}`,
  challenge_unreachable: ({ probes, problem }) =>
    `The certificate authority cannot fetch its challenge from the domain.${perAddress(probes)}${itsWords(problem)}`,
  authority_refused: ({ problem, refusals }) =>
    `The certificate authority refused ${refusals > 1 ? `${refusals} orders` : 'the order'}${problem === null ? '' : ` (${problem.type})`}.${itsWords(problem)}`,
  certificate_not_shown: ({ setback }, reader) =>
    setback === null
      ? 'The edge does not show the certificate that the domain waits for.'
      : `At ${inUtc(setback.at)} the edge did not show the certificate that the domain waits for: ${detailOf(setback, reader)}.`,
  authority_unreachable: ({ setback }, reader) =>
    setback === null
      ? 'The certificate authority could not be reached, or had not finished.'
      : `At ${inUtc(setback.at)} the certificate authority could not be reached, or had not finished: ${detailOf(setback, reader)}.`,
  platform_fault: () =>
    'Nothing about the domain or the certificate authority explains it: the order did not get on, which is our own fault.',
};

/** What happens next by itself, by cause; its keys are all causes there are. */
export const nextActions: { readonly [C in EscalationCause]: Sentence } = {
  dns_changed: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every few minutes')}; the certificate is ${obtained(evidence)} as soon as the record is right.`,
  caa_blocks: (evidence) =>
    `The CAA records are checked ${howOften(evidence, 'every few minutes')}; the certificate is ${obtained(evidence)} as soon as they allow it.`,
  dns_unsettled: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as its servers agree and its signatures are good.`,
  dns_unknown: (evidence) =>
    `The DNS is checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as it answers.`,
  caa_unknown: (evidence) =>
    `The CAA records are checked ${howOften(evidence, 'every minute')}; the certificate is ${obtained(evidence)} as soon as they answer.`,
  authority_rate_limited: (evidence) => {
    const { budget, nextAttempt } = evidence;
    if (nextAttempt?.order === 'open') return nextOrder(evidence);
    const placed = isSpent(budget) ? 'placed' : 'placed again';
    return nextAttempt === null
      ? `The order is ${placed} when the authority allows it.`
      : `The order is ${placed} at ${inUtc(nextAttempt.at)}, when the authority allows it.`;
  },
  challenge_unreachable: (evidence, reader) =>
    untilReached(evidence, reader) ?? nextOrder(evidence),
  authority_refused: nextOrder,
  certificate_not_shown: ({ nextAttempt }) =>
    nextAttempt === null
      ? 'The edge is checked again automatically.'
      : `The edge is checked again at ${inUtc(nextAttempt.at)}, and every few minutes after that.`,
  authority_unreachable: nextOrder,
  platform_fault: (evidence) => afterQuarantine(evidence) ?? nextOrder(evidence),
};

/** A domain that waits for its first certificate is checked more often than one that is served. */
function howOften({ servedUntil: end, nextAttempt }: EscalationEvidence, waiting: string): string {
  if (end === null) return waiting;
  const next = nextAttempt === null ? '' : `, next at ${inUtc(nextAttempt.at)}`;
  return `once an hour at least${next}`;
}

function obtained({ servedUntil: end }: EscalationEvidence): string {
  return end === null ? 'ordered' : 'renewed';
}

/** A job set aside may be tried once before its time (isWorthATry), and comes back by itself in any case. */
function afterQuarantine({ quarantine, nextAttempt }: EscalationEvidence): string | null {
  if (quarantine === null || nextAttempt === null) return null;
  const met = 'Its job met faults again and again, and was set aside';
  return nextAttempt.at < quarantine.until
    ? `${met}. It is tried once more at ${inUtc(nextAttempt.at)}; should that go wrong, it is set aside again, for longer.`
    : `${met} until ${inUtc(quarantine.until)}; then it is tried again.`;
}

/** While an address fails nothing is ordered; where all of them do, it may be only from here that they cannot be asked. */
function untilReached({ nextAttempt, probes }: EscalationEvidence, reader: Reader): string | null {
  if (nextAttempt?.order === 'open' || !probes.some(isUnreached)) return null;
  const when = nextAttempt === null ? 'automatically' : `at ${inUtc(nextAttempt.at)}`;
  const asked = `The addresses are asked again ${when}, and every few minutes after that; the order is placed as soon as none of them fails.`;
  const isFromHereOnly = !probes.some(({ outcome }) => outcome === 'reachable');
  const remedy =
    reader === 'operator'
      ? 'set EDGE_PROBE=false'
      : 'the platform’s operator has to say so in its settings';
  return isFromHereOnly
    ? `${asked} Should the rest of the world reach them, and only our own machines not, ${remedy}.`
    : asked;
}

function nextOrder({ nextAttempt }: EscalationEvidence): string {
  if (nextAttempt === null) return 'The order resumes automatically.';
  const at = inUtc(nextAttempt.at);
  if (nextAttempt.order === 'open') {
    return `The open order is taken up again at ${at}, and every few minutes after that.`;
  }
  const then =
    nextAttempt.thenAt === null
      ? ''
      : `; should it fail, the next one follows at ${inUtc(nextAttempt.thenAt)}`;
  return `A new order is placed at ${at}${then}.`;
}

function about({ findings }: EscalationEvidence, ...codes: readonly Finding['code'][]): string {
  return summaryOf(findings.find(({ code }) => codes.includes(code)));
}

function summaryOf(finding: Finding | undefined): string {
  return finding === undefined ? '' : ` ${explain(finding).summary}`;
}

/** Where there are two authorities, the open order may be at the other one, which the detail names. */
function alsoSetBack(setback: EscalationEvidence['setback'], reader: Reader): string {
  if (setback === null) return '';
  return ` The order that is open now had not come further at ${inUtc(setback.at)}: ${detailOf(setback, reader)}.`;
}

/**
 * The detail of a fault in our configuration begins with the fault's code (workers/orders/advance-order.ts), and names the
 * variable, which a customer is not shown.
 */
function detailOf({ detail }: Setback, reader: Reader): string {
  return reader === 'customer' && /^ca_misconfigured\b/.test(detail)
    ? 'it does not take the settings of this platform, which the platform’s operator has to mend'
    : detail;
}

type Setback = NonNullable<EscalationEvidence['setback']>;

/** One line, printable, at most 500 characters (src/certificates/acme/problems.ts). */
function itsWords(problem: EscalationEvidence['problem']): string {
  return problem === null || problem.detail === '' ? '' : ` It says: “${problem.detail}”`;
}

/** Each address by itself: a wrong AAAA record beside a right A record is the usual surprise. */
function perAddress(probes: readonly Probe[]): string {
  const answered = probes.filter((probe) => isUnreached(probe) || probe.outcome === 'reachable');
  return answered.length === 0 ? '' : ` On ${probesInWords(answered)}.`;
}

/** `port 80, 192.0.2.1 refuses the connection; 192.0.2.2 …`; of one at least. */
export function probesInWords(probes: readonly Probe[]): string {
  const port = probes[0]?.method === 'tls-alpn-01' ? 443 : 80;
  return `port ${port}, ${probes.map((probe) => `${probe.address} ${outcomeOf(probe)}`).join('; ')}`;
}

function outcomeOf(probe: Probe): string {
  switch (probe.outcome) {
    case 'reachable':
      return 'answers as it should';
    case 'refused':
      return 'refuses the connection';
    case 'timeout':
      return 'does not answer within 3 seconds';
    case 'other_answer':
      return `is answered by something else${probe.status === null ? '' : ` (status ${probe.status})`}`;
    case 'no_route':
      return 'cannot be asked from here';
    case 'reserved':
      return 'is an address that nobody can reach';
  }
}

/** `2026-11-20 12:30 UTC`, of an RFC 3339 time in UTC. */
function inUtc(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}
