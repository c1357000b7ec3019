/** Chooses the text of the summary by the domain's status, then by its findings. */
import type { Actor } from '../../diagnosis/findings.ts';
import {
  actionFor,
  headlineOf,
  isAboutCertificate,
  isAtRegistrar,
  type LeadingFinding,
} from './leading-finding.ts';
import { expired, live } from './live.ts';
import {
  alsoToDo,
  changesLeft,
  hasToDo,
  isSpreading,
  mayBeMissing,
  serversUpdated,
  taskInBrief,
} from './progress.ts';
import {
  dateInWords,
  type Situation,
  type SummaryInput,
  spanInWords,
  type Tone,
} from './summary-types.ts';

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

// A domain that is not live yet because of a finding.

const UNKNOWN_PROVIDER = 'your DNS provider';

function blockedBy(leading: LeadingFinding, input: SummaryInput): Situation {
  if (leading.code === 'dns_unknown') return unknownDns(leading, input);
  if (leading.severity === 'informs') return waitingFor(input);
  // For example a proxy whose origin could not be checked: no change is known to help.
  if (leading.severity === 'warns' && !hasToDo(input.changes)) {
    return { ...waitingFor(input), text: leading.summary };
  }
  if (leading.actor === 'platform') return ours(leading, input);
  if (leading.actor === 'dns_provider') return atProvider(leading, input);
  if (leading.code === 'name_servers_disagree') return severalProviders(leading, input);
  const isMade = isSpreading(input.changes) && !isAtRegistrar(leading.code);
  return isMade && leading.code !== 'plan_required'
    ? spreading(leading, input)
    : customers(leading, input);
}

function atProvider(leading: LeadingFinding, input: SummaryInput): Situation {
  if (leading.code !== 'name_servers_disagree') {
    return isSpreading(input.changes) ? spreading(leading, input) : providers(leading, input);
  }
  // Some changes are on a server already, others are still missing.
  return hasToDo(input.changes)
    ? customers({ ...leading, actor: 'customer' }, input)
    : spreading(leading, input);
}

/** Adds “Nothing to do.” unless a change can be missing. */
function calm({ changes }: SummaryInput, words: string): string {
  return mayBeMissing(changes) ? words : `Nothing to do. ${words}`;
}

/** The next check decides. */
function waitingFor(input: SummaryInput): Situation {
  return {
    tone: 'wait',
    badge: 'Waiting for DNS',
    headline: calm(input, 'Waiting for the next check.'),
    text: 'We check the DNS again automatically.',
    brief: 'Waiting for DNS',
    action: 'check_now',
    actor: null,
    dns: 'wait',
    certificate: certificateTone(input),
    next: 'check',
  };
}

function certificateTone({ certificate, findings }: SummaryInput): Tone {
  if (findings.some(({ code }) => code === 'caa_blocks')) return 'warn';
  return certificate.expiresAt === null ? 'idle' : 'ok';
}

function unknownDns(leading: LeadingFinding, input: SummaryInput): Situation {
  const words = 'We couldn’t check the DNS; we’ll try again.';
  return {
    ...waitingFor(input),
    // The list of name servers can be the customer's mistake.
    headline: leading.actor === 'customer' ? words : calm(input, words),
    text: `${leading.summary}${mayBeMissing(input.changes) ? ' If the record isn’t there yet, add it.' : ''}`,
    brief: 'Couldn’t check the DNS',
  };
}

function ours(leading: LeadingFinding, input: SummaryInput): Situation {
  const isCertificates = isAboutCertificate(leading.code);
  return {
    ...waitingFor(input),
    headline: calm(input, 'We have to fix this.'),
    text: leading.summary,
    brief: 'Waiting for us',
    actor: 'platform',
    ...(isCertificates && ({ dns: 'ok', certificate: 'wait' } as const)),
  };
}

function spreading({ code, summary }: LeadingFinding, input: SummaryInput): Situation {
  const { done, all } = serversUpdated(input.changes);
  const provider = input.provider?.name ?? 'Your DNS provider';
  const isByResolvers = input.view === 'recursive';
  const noun = isByResolvers ? 'resolvers' : 'name servers';
  const left = all - done;
  const isCounted = done > 0 && left > 0;
  const count = `${done} of ${all} ${noun} ${done === 1 ? 'has' : 'have'} every change.`;
  const rest = `The other${left === 1 ? ' one usually follows' : 's usually follow'} within minutes.`;
  return {
    ...waitingFor(input),
    // A resolver may only remember an old answer.
    headline: calm(
      input,
      isByResolvers ? 'The changes are spreading.' : `${provider} is updating its name servers.`,
    ),
    text: isCounted ? `${count} ${rest}` : summary,
    brief: isCounted ? `${done} of ${all} ${noun} updated` : `Waiting for the ${noun}`,
    ...(isAboutCertificate(code) && ({ dns: 'ok', certificate: 'wait' } as const)),
  };
}

function providers(leading: LeadingFinding, input: SummaryInput): Situation {
  const provider = input.provider?.name ?? UNKNOWN_PROVIDER;
  return {
    ...actionNeeded(leading, input),
    headline: `Ask ${provider} to fix this`,
    text: leading.summary,
    brief: `Ask ${provider} for help`,
    action: null,
  };
}

function severalProviders(leading: LeadingFinding, input: SummaryInput): Situation {
  return {
    ...actionNeeded(leading, input),
    headline: 'Do this at each of your DNS providers',
    text: leading.summary,
    brief: 'Two DNS providers differ',
  };
}

function customers(leading: LeadingFinding, input: SummaryInput): Situation {
  const base = actionNeeded(leading, input);
  if (leading.code === 'plan_required') {
    return {
      ...base,
      headline: 'Switch to a paid plan',
      text: leading.summary,
      brief: 'Switch to a paid plan',
      action: 'change_plan',
      dns: 'ok',
    };
  }
  const isRegistrars = isAtRegistrar(leading.code);
  const provider = isRegistrars ? 'your registrar' : (input.provider?.name ?? UNKNOWN_PROVIDER);
  const brief = isRegistrars ? null : taskInBrief(input.changes, provider);
  return {
    ...base,
    headline: `Do this at ${provider}`,
    text: (isRegistrars ? null : changesLeft(input.changes)) ?? leading.summary,
    brief: brief ?? `Do this at ${provider}`,
    action: actionFor(leading),
  };
}

function actionNeeded(
  leading: LeadingFinding,
  input: SummaryInput,
): Omit<Situation, 'headline' | 'text' | 'brief'> {
  const isCertificates = isAboutCertificate(leading.code);
  return {
    tone: 'warn',
    badge: 'Action needed',
    action: 'open_dns',
    actor: leading.actor,
    dns: isCertificates ? 'ok' : 'warn',
    certificate: isCertificates ? 'warn' : certificateTone(input),
    next: 'check',
  };
}
