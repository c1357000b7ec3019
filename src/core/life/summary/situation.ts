/** One situation per domain: the first that applies, from the gravest to live. */
import { blockedBy, waitingFor } from './blocked.ts';
import { dateInWords, spanInWords } from './dates.ts';
import { headlineOf, isAboutCertificate, type LeadingFinding } from './leading-finding.ts';
import type { Situation, SummaryInput } from './summary-types.ts';

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
      : `We stopped checking after ${spanInWords(input.windowMs)}`,
    text: isChecked
      ? `${why} We still check from time to time.`
      : `${why} Fix it, then start again.`,
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
    action: 'open_dns',
    actor: leading?.actor ?? null,
    dns: 'bad',
    certificate: end === null ? 'bad' : 'ok',
    next: 'check',
  };
}

function live(input: SummaryInput, leading: LeadingFinding | null, now: Date): Situation {
  const { certificate, hasEscalation, deploy, missedAt } = input;
  if (certificate.hasExpired) return expired(leading);
  if (deploy === 'down') return deployDown();
  if (missedAt !== null) return suspected(leading);
  if (leading !== null && leading.severity !== 'informs' && leading.actor !== 'platform') {
    return liveWithFinding(leading, certificate.expiresAt, now);
  }
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

function expired(leading: LeadingFinding | null): Situation {
  const isCustomers = leading !== null && leading.actor === 'customer';
  return {
    ...calm,
    tone: 'bad',
    badge: 'Needs attention',
    headline: 'Browsers warn your visitors: the certificate has expired',
    text: isCustomers ? leading.summary : 'We are renewing it. You don’t need to do anything.',
    brief: 'The certificate has expired',
    action: isCustomers ? 'open_dns' : null,
    actor: isCustomers ? 'customer' : 'platform',
    certificate: 'bad',
    next: 'check',
  };
}

function deployDown(): Situation {
  return {
    ...calm,
    tone: 'bad',
    badge: 'Needs attention',
    headline: 'Live, but your deploy isn’t answering',
    text: 'Visitors see an error page (502). DNS and certificate are fine.',
    brief: 'Your deploy isn’t answering',
    action: 'change_deploy',
    actor: 'customer',
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
    action: 'open_dns',
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
    action: 'open_dns',
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
