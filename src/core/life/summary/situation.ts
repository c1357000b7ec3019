/** One situation per domain: the first that applies, from the gravest to live. */
import { blockedBy, waitingFor } from './blocked.ts';
import { dateInWords, spanInWords } from './dates.ts';
import {
  actionFor,
  headlineOf,
  isAboutCertificate,
  isOurs,
  type LeadingFinding,
  othersThanOurs,
} from './leading-finding.ts';
import type { Situation, SummaryInput, Tone } from './summary-types.ts';

export function situationOf(input: SummaryInput, now: Date): Situation {
  const leading = headlineOf(input);
  switch (input.status) {
    case 'removed':
      return removed(input);
    case 'failed':
      return failed(input, leading);
    case 'drifted':
      return drifted(input, leading, now);
    case 'live':
      return live(input, leading, now);
    case 'verified':
      return verified(input, leading);
    case 'pending':
      return pending(input, leading);
  }
}

function removed({ hostname }: SummaryInput): Situation {
  return {
    tone: 'idle',
    badge: 'Removed',
    headline: `${hostname} was removed`,
    text: 'It serves no traffic. If you add it again, its DNS record stays the same.',
    brief: 'Removed',
    action: 'add_again',
    actor: null,
    dns: 'idle',
    certificate: 'idle',
    next: 'none',
  };
}

function failed(input: SummaryInput, leading: LeadingFinding | null): Situation {
  const wasLive = input.verifiedAt !== null;
  const why = leading?.summary ?? 'Its DNS was wrong.';
  const isChecked = input.nextCheckAt !== null;
  return {
    tone: 'bad',
    badge: 'Failed',
    headline: wasLive
      ? 'No longer live: the certificate has expired'
      : `${isChecked ? 'Not set up within' : 'We stopped checking after'} ${spanInWords(input.windowMs)}`,
    text: `${why} Fix it, then start again.${isChecked ? ' Until then we check less often.' : ''}`,
    brief: wasLive ? 'No longer live' : 'Not set up in time',
    action: 'start_again',
    actor: leading?.actor ?? null,
    dns: 'bad',
    certificate: wasLive ? 'bad' : 'idle',
    next: isChecked ? 'check' : 'none',
  };
}

function drifted(input: SummaryInput, leading: LeadingFinding | null, now: Date): Situation {
  const end = input.certificate.expiresAt;
  const served =
    end === null ? '' : ` Visitors who still arrive are served until ${dateInWords(end, now)}.`;
  return {
    tone: 'bad',
    badge: 'Needs attention',
    headline: 'No longer live',
    text: `${leading?.summary ?? 'Its DNS points elsewhere now.'}${served}`,
    brief: 'No longer live: its DNS changed',
    action: actionFor(leading),
    actor: leading?.actor ?? null,
    dns: 'bad',
    certificate: end === null ? 'bad' : 'ok',
    next: 'check',
  };
}

function live(input: SummaryInput, leading: LeadingFinding | null, now: Date): Situation {
  const { certificate, hasEscalation, deploy, missedAt } = input;
  if (certificate.hasExpired) return expired(input, leading);
  if (deploy === 'down') return deployDown(input);
  if (missedAt !== null) return suspected(leading);
  const others = othersThanOurs(input);
  if (others !== null && others.severity !== 'informs') {
    return liveWithFinding(others, certificate.expiresAt, now);
  }
  if (isOurs(input)) return oursToFix(leading);
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

function expired(input: SummaryInput, leading: LeadingFinding | null): Situation {
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

function lateRenewal({ hasEscalation, certificate }: SummaryInput): Situation {
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

function verified(input: SummaryInput, leading: LeadingFinding | null): Situation {
  if (leading?.severity === 'blocks') return { ...blockedBy(leading, input), next: 'attempt' };
  const { hasEscalation, certificate } = input;
  const { problem } = certificate;
  const base = {
    tone: 'wait',
    badge: 'Getting certificate',
    action: null,
    dns: 'ok',
    certificate: 'wait',
    next: 'attempt',
  } as const;
  if (hasEscalation) {
    return {
      ...base,
      headline: 'The certificate is late. We’re on it.',
      text: 'DNS is right. An operator was notified.',
      brief: 'The certificate is late',
      actor: 'platform',
    };
  }
  return {
    ...base,
    headline:
      problem === null
        ? 'DNS is right. Getting the certificate.'
        : 'DNS is right. The certificate was refused so far.',
    text:
      problem === null ? 'Usually takes about 2 minutes.' : `${problem.summary} ${problem.action}`,
    brief: 'Getting the certificate',
    actor: null,
  };
}

function pending(input: SummaryInput, leading: LeadingFinding | null): Situation {
  if (input.lastCheckedAt === null) {
    return {
      ...waitingFor(input),
      headline: 'Nothing to do. Checking the DNS.',
      text: 'The first check takes a few seconds.',
      brief: 'Checking the DNS',
      next: 'first',
    };
  }
  if (leading === null) return waitingFor(input);
  return blockedBy(leading, input);
}
