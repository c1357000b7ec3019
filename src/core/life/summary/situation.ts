/** Chooses the text of the summary by the domain's status, then by its findings. */
import type { Actor } from '../../diagnosis/findings.ts';
import { blockedBy, waitingFor } from './blocked.ts';
import { dateInWords, spanInWords } from './dates.ts';
import { actionFor, headlineOf, type LeadingFinding } from './leading-finding.ts';
import { expired, live } from './live.ts';
import { alsoToDo } from './progress.ts';
import type { Situation, SummaryInput, Tone } from './summary-types.ts';

export function situationOf(input: SummaryInput, now: Date): Situation {
  const leading = headlineOf(input);
  switch (input.status) {
    case 'removed':
      return removed(input.hostname);
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

/** Only its events are left. */
export function removed(hostname: string): Situation {
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
  const isChecked = input.nextCheckAt !== null;
  const blocked = leading === null ? null : blockedBy(leading, input);
  const text = `${leading?.summary ?? 'Its DNS was wrong.'} ${endings[leading?.actor ?? 'customer']}`;
  return {
    tone: 'bad',
    badge: 'Failed',
    headline: wasLive ? 'No longer live: the certificate has expired' : notSetUp(input),
    text: isChecked ? `${text} Until then we check less often.` : text,
    brief: wasLive ? 'No longer live' : 'Not set up in time',
    action: blocked?.action === 'change_plan' ? 'change_plan' : 'start_again',
    actor: leading?.actor ?? null,
    ...stepsOf(blocked, wasLive),
    next: isChecked ? 'check' : 'none',
  };
}

function notSetUp({ nextCheckAt, windowMs }: SummaryInput): string {
  const window = spanInWords(windowMs);
  return nextCheckAt === null
    ? `We stopped checking after ${window}`
    : `Not set up within ${window}`;
}

/** Shows a step that needed action (`warn`) as failed (`bad`). */
function stepsOf(
  blocked: Situation | null,
  wasLive: boolean,
): Pick<Situation, 'dns' | 'certificate'> {
  const { dns = 'warn', certificate = 'idle' } = blocked ?? {};
  return { dns: gravest(dns), certificate: wasLive ? 'bad' : gravest(certificate) };
}

function gravest(tone: Tone): Tone {
  return tone === 'warn' ? 'bad' : tone;
}

const endings: { readonly [A in Actor]: string } = {
  customer: 'Fix it, then start again.',
  dns_provider: 'Start again once your DNS provider has fixed it.',
  platform: 'We have to fix it.',
};

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

function verified(input: SummaryInput, leading: LeadingFinding | null): Situation {
  if (input.certificate.hasExpired) return { ...expired(input, leading), next: 'attempt' };
  if (leading?.severity === 'blocks') return { ...blockedBy(leading, input), next: 'attempt' };
  const { hasEscalation, certificate } = input;
  const { problem } = certificate;
  const beside = alsoToDo(input.changes);
  const base = {
    tone: 'wait',
    badge: 'Getting certificate',
    action: null,
    dns: 'ok',
    certificate: 'wait',
    next: 'attempt',
  } as const;
  if (problem?.isLasting) {
    return {
      ...base,
      tone: 'warn',
      badge: 'Action needed',
      headline: 'DNS is right, but the certificate was refused',
      text: `${problem.summary} ${problem.action}`,
      brief: 'The certificate was refused',
      actor: 'customer',
      certificate: 'warn',
    };
  }
  if (hasEscalation) {
    return {
      ...base,
      headline: 'The certificate is late. We’re on it.',
      text: `DNS is right. An operator was notified.${beside}`,
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
    text: `${problem === null ? 'Usually takes about 2 minutes.' : `${problem.summary} ${problem.action}`}${beside}`,
    brief: 'Getting the certificate',
    actor: null,
  };
}

function pending(input: SummaryInput, leading: LeadingFinding | null): Situation {
  if (input.lastCheckedAt === null) {
    return {
      ...waitingFor(input),
      headline: 'Checking the DNS',
      text: 'The first check takes a few seconds. If the record isn’t there yet, add it.',
      brief: 'Checking the DNS',
      next: 'first',
    };
  }
  if (leading === null) return waitingFor(input);
  return blockedBy(leading, input);
}
