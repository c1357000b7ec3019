/**
 * How a domain stands, decided once: badge, headline, steps and next action. The page, the API, the
 * CLI, window titles and lists show this instead of the status.
 */
import { situationOf } from './situation.ts';
import type {
  DeployHealth,
  PathStep,
  Situation,
  Summary,
  SummaryInput,
  Tone,
} from './summary-types.ts';

/** Pure; never throws. */
export function summaryOf(input: SummaryInput, now: Date): Summary {
  const { dns, certificate, next, ...said } = situationOf(input, now);
  const deploy = deployTones[input.deploy];
  const path: readonly PathStep[] = [
    { step: 'dns', tone: dns },
    { step: 'certificate', tone: certificate },
    ...(deploy === null ? [] : [{ step: 'deploy', tone: deploy } as const]),
  ];
  return { ...said, path, now: sentences(said), ...nextOf(next, input, now) };
}

const deployTones: { readonly [H in DeployHealth]: Tone | null } = {
  unknown: null,
  healthy: 'ok',
  down: 'bad',
};

/** `Do this at GoDaddy. docs.example.com … The next check is on 2026-11-20 at 12:00:16 UTC.` */
export function summaryLine({ now, next, nextAt }: Summary): string {
  const then = nextAt === null ? next : `${next} ${exactly(nextAt)}.`;
  return then === '' ? now : `${now} ${then}`;
}

function sentences({ headline, text }: Pick<Situation, 'headline' | 'text'>): string {
  const first = /[.!?…]$/.test(headline) ? headline : `${headline}.`;
  return text === '' ? first : `${first} ${text}`;
}

function nextOf(
  next: Situation['next'],
  { nextCheckAt, certificate }: SummaryInput,
  now: Date,
): Pick<Summary, 'next' | 'nextAt'> {
  if (next === 'none') return { next: '', nextAt: null };
  const { when, underWay } = nextWords[next];
  const at = next === 'attempt' ? certificate.nextAttemptAt : nextCheckAt;
  return at === null || at <= now ? { next: underWay, nextAt: null } : { next: when, nextAt: at };
}

/** `when` is completed by a future time; otherwise it is `underWay`. */
const nextWords = {
  first: { when: 'The first check is', underWay: 'Checking now…' },
  check: { when: 'The next check is', underWay: 'Checking now…' },
  second: { when: 'The second check is', underWay: 'Checking now…' },
  attempt: { when: 'The next attempt is', underWay: 'The certificate is being obtained.' },
} as const;

function exactly(at: Date): string {
  const [date = '', clock = ''] = at.toISOString().split('T');
  return `on ${date} at ${clock.slice(0, 8)} UTC`;
}
