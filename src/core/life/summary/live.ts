/** A live domain: what visitors see comes first. */

import {
  actionFor,
  headlineOf,
  isAboutCertificate,
  isOurs,
  type LeadingFinding,
  othersThanOurs,
} from './leading-finding.ts';
import { dateInWords, type Situation, type SummaryInput, type Tone } from './summary-types.ts';

export function live(input: SummaryInput, leading: LeadingFinding | null, now: Date): Situation {
  const { certificate, hasEscalation, deploy, missedAt } = input;
  if (certificate.hasExpired) return expired(input, leading);
  if (deploy === 'down') return deployDown(input);
  if (missedAt !== null) return suspected(leading);
  const others = othersThanOurs(input);
  if (others !== null && others.severity !== 'informs') {
    return liveWithFinding(others, certificate.expiresAt, now);
  }
  if (isOurs(input)) return oursToFix(leading);
  if (certificate.served) return notServed(certificate.served);
  if (hasEscalation || certificate.problem !== null) return lateRenewal(input);
  return {
    ...calm,
    headline: 'Live. Nothing to do.',
    text: 'Visitors reach it over HTTPS. The certificate renews automatically.',
    brief: 'Live',
  };
}

const calm = {
  tone: 'ok',
  badge: 'Live',
  action: 'visit',
  actor: null,
  dns: 'ok',
  certificate: 'ok',
  next: 'check',
} as const;

/** Also of a domain that is verified again because its certificate ended. */
export function expired(input: SummaryInput, leading: LeadingFinding | null): Situation {
  const { problem } = input.certificate;
  const isFindings = leading?.severity === 'blocks' && leading.actor === 'customer';
  const isCustomers = isFindings || problem?.actor === 'customer';
  const why = isFindings ? leading.summary : `${problem?.summary ?? ''} ${problem?.action ?? ''}`;
  return {
    ...calm,
    tone: 'bad',
    badge: 'Needs attention',
    headline: 'Browsers warn your visitors: the certificate has expired',
    text: isCustomers ? why : 'We are renewing it. You don’t need to do anything.',
    brief: 'The certificate has expired',
    action: isFindings ? actionFor(leading) : null,
    actor: isCustomers ? 'customer' : 'platform',
    dns: dnsTone(input, leading),
    certificate: 'bad',
    next: 'check',
  };
}

/** Only a person can tell who operates the address. One failing address does not affect all visitors. */
function notServed({
  isOther,
  summary,
}: NonNullable<SummaryInput['certificate']['served']>): Situation {
  const tone = isOther ? 'bad' : 'wait';
  return {
    ...calm,
    tone,
    badge: isOther ? 'Needs attention' : 'Live',
    headline: isOther
      ? 'Live, but some visitors get another certificate'
      : 'Live, but an address of it did not answer us',
    text: summary,
    brief: isOther ? 'Another certificate is served' : 'An address did not answer us',
    action: null,
    actor: 'platform',
    certificate: tone,
  };
}

function dnsTone({ missedAt }: SummaryInput, leading: LeadingFinding | null): Tone {
  const isDns = leading?.severity === 'blocks' && !isAboutCertificate(leading.code);
  return missedAt !== null || isDns ? 'warn' : 'ok';
}

function deployDown(input: SummaryInput): Situation {
  const leading = headlineOf(input);
  const isFine = leading === null && input.missedAt === null;
  return {
    ...calm,
    tone: 'bad',
    badge: 'Needs attention',
    headline: 'Live, but your deploy isn’t answering',
    text: `Visitors see an error page (502).${isFine ? ' DNS and certificate are fine.' : ''}`,
    brief: 'Your deploy isn’t answering',
    action: 'change_deploy',
    actor: 'customer',
    dns: dnsTone(input, leading),
  };
}

/** For example the CAA records of our target. */
function oursToFix(leading: LeadingFinding | null): Situation {
  return {
    ...calm,
    tone: 'wait',
    headline: 'Live. We have to fix something before the next renewal.',
    text: leading?.summary ?? '',
    brief: 'Waiting for us',
    actor: 'platform',
    certificate: 'wait',
  };
}

/** One missed check: the second decides. */
function suspected(leading: LeadingFinding | null): Situation {
  return {
    ...calm,
    tone: 'warn',
    badge: 'Action needed',
    headline: 'Live, but the last check found a problem',
    text: leading?.summary ?? 'At the last check its DNS was wrong.',
    brief: 'The last check found a problem',
    action: actionFor(leading),
    actor: leading === null || leading.severity === 'informs' ? null : leading.actor,
    dns: 'warn',
    next: 'second',
  };
}

function liveWithFinding(leading: LeadingFinding, end: Date | null, now: Date): Situation {
  const isCertificates = isAboutCertificate(leading.code);
  const willFail = isCertificates && leading.severity === 'blocks';
  const lasts = end === null ? '' : ` The certificate lasts until ${dateInWords(end, now)}.`;
  return {
    ...calm,
    tone: 'warn',
    badge: 'Action needed',
    headline: willFail
      ? 'Live, but the next renewal will fail'
      : `Live, but its ${isCertificates ? 'CAA records need' : 'DNS needs'} attention`,
    text: `${leading.summary}${willFail ? lasts : ''}`,
    brief: willFail ? 'The next renewal will fail' : 'Live, but needs attention',
    action: actionFor(leading),
    actor: leading.actor,
    dns: isCertificates ? 'ok' : 'warn',
    certificate: isCertificates ? 'warn' : 'ok',
  };
}

function lateRenewal(input: SummaryInput): Situation {
  const { hasEscalation, certificate } = input;
  if (certificate.problem?.isLasting) {
    const { summary, action } = certificate.problem;
    return {
      ...calm,
      tone: 'warn',
      badge: 'Action needed',
      headline: 'Live, but the next renewal will fail',
      text: `${summary} ${action}`,
      brief: 'The next renewal will fail',
      action: null,
      actor: 'customer',
      certificate: 'warn',
    };
  }
  const problem = certificate.problem === null ? '' : `${certificate.problem.summary} `;
  return {
    ...calm,
    tone: 'wait',
    headline: hasEscalation
      ? 'Live. The renewal is late, and we’re on it.'
      : 'Live. The renewal was refused; we’ll try again.',
    text: hasEscalation
      ? `${problem}An operator was notified. You don’t need to do anything.`
      : `${problem}It is retried automatically.`,
    brief: 'The renewal is late',
    actor: hasEscalation ? 'platform' : null,
    certificate: 'wait',
  };
}
