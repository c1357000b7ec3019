/** The status line of a domain, decided from stored data. */
import { type Actor, explain, type Finding, severities } from '../diagnosis/findings.ts';
import type { DomainStatus } from './lifecycle.ts';

export type Summary = {
  readonly now: string;
  /** A whole sentence if `nextAt` is null, otherwise one that the time completes. */
  readonly next: string;
  /** Null: it is running or not planned. */
  readonly nextAt: Date | null;
  /** Who must act. */
  readonly actor: Actor | null;
};

export type SummaryInput = {
  readonly status: DomainStatus;
  readonly findings: readonly Finding[];
  readonly lastCheckedAt: Date | null;
  /** Its own job or a sweep. */
  readonly nextCheckAt: Date | null;
  readonly verifiedAt: Date | null;
  /** The first of the two checks that make a live domain drifted. */
  readonly missedAt: Date | null;
  readonly certificate: {
    readonly expiresAt: Date | null;
    readonly nextAttemptAt: Date | null;
    /** Of the newest order. */
    readonly isRefused: boolean;
  };
  readonly hasEscalation: boolean;
};

export function summaryOf(input: SummaryInput, now: Date): Summary {
  return lines[input.status](input, now);
}

/** `… The next check is on 2026-11-20 at 12:00:16 UTC.` */
export function summaryLine({ now, next, nextAt }: Summary): string {
  return `${now} ${nextAt === null ? next : `${next} ${exactly(nextAt)}.`}`;
}

type Line = (input: SummaryInput, now: Date) => Summary;

const lines: { readonly [S in DomainStatus]: Line } = {
  pending(input, now) {
    if (input.lastCheckedAt === null) {
      const next = soon('The first check is', 'Checking now…');
      return { now: 'Added. Its DNS hasn’t been checked yet.', actor: null, ...next(input, now) };
    }
    return { ...troubleOf(input, 'Its DNS isn’t set up yet.'), ...nextCheck(input, now) };
  },

  verified(input, now) {
    const { certificate, findings, hasEscalation } = input;
    const [headline] = findings;
    const tried = soon('The next attempt is', 'The certificate is being obtained.');
    const next = tried({ nextCheckAt: certificate.nextAttemptAt }, now);
    if (headline !== undefined && severities[headline.code] === 'blocks') {
      const { summary, actor } = explain(headline);
      return { now: `The certificate cannot be obtained yet. ${summary}`, actor, ...next };
    }
    if (hasEscalation) {
      return {
        now: 'The DNS is correct, but no certificate was issued yet. An operator was notified.',
        actor: 'platform',
        ...next,
      };
    }
    return {
      now: certificate.isRefused
        ? 'The DNS is correct, but the certificate authority has refused the certificate so far.'
        : 'The DNS is correct. The certificate is being issued, which takes a minute or two.',
      actor: null,
      ...next,
    };
  },

  live(input, now) {
    if (input.missedAt !== null) {
      const { now: trouble, actor } = troubleOf(input, 'At the last check its DNS was wrong.');
      const next = soon('The second check is', 'Checking now…');
      return {
        now: `Live, but the last check found a problem. ${trouble}`,
        actor,
        ...next(input, now),
      };
    }
    return { ...liveTrouble(input), ...nextCheck(input, now) };
  },

  drifted(input, now) {
    const { now: trouble, actor } = troubleOf(input, 'Its DNS points elsewhere now.');
    const end = input.certificate.expiresAt;
    const served = end === null ? '' : ` Remaining traffic is served until ${day(end)}.`;
    return { now: `No longer live. ${trouble}${served}`, actor, ...nextCheck(input, now) };
  },

  failed(input, now) {
    const { now: trouble, actor } = troubleOf(input, 'Its DNS was wrong.');
    const why =
      input.verifiedAt === null
        ? 'Not live: the verification window ended before its DNS was correct.'
        : 'No longer live: its certificate has expired.';
    const next =
      input.nextCheckAt === null
        ? { next: 'It is no longer checked. Verify it again to restart.', nextAt: null }
        : nextCheck(input, now);
    return { now: `${why} ${trouble}`, actor, ...next };
  },
};

function liveTrouble({
  findings,
  certificate,
  hasEscalation,
}: SummaryInput): Pick<Summary, 'now' | 'actor'> {
  const [headline] = findings;
  if (hasEscalation) {
    const now = 'Live, but its certificate has not been renewed. An operator was notified.';
    return { now, actor: 'platform' };
  }
  if (headline !== undefined && severities[headline.code] !== 'informs') {
    const { summary, actor } = explain(headline);
    return { now: `Live. ${summary}`, actor };
  }
  if (certificate.isRefused) {
    const now =
      'Live, but the certificate authority has refused the renewal so far. It is retried automatically.';
    return { now, actor: null };
  }
  return { now: 'Live. No action needed: its certificate renews automatically.', actor: null };
}

function troubleOf(
  { findings: [headline] }: SummaryInput,
  otherwise: string,
): Pick<Summary, 'now' | 'actor'> {
  if (headline === undefined) return { now: otherwise, actor: null };
  const { severity, summary, actor } = explain(headline);
  return { now: summary, actor: severity === 'informs' ? null : actor };
}

const nextCheck = soon('The next check is', 'Checking now…');

/** `when` is completed by a future time; otherwise it is `underWay`. */
function soon(when: string, underWay: string) {
  return (
    { nextCheckAt }: Pick<SummaryInput, 'nextCheckAt'>,
    now: Date,
  ): Pick<Summary, 'next' | 'nextAt'> =>
    nextCheckAt === null || nextCheckAt <= now
      ? { next: underWay, nextAt: null }
      : { next: when, nextAt: nextCheckAt };
}

function exactly(at: Date): string {
  const [date = '', clock = ''] = at.toISOString().split('T');
  return `on ${date} at ${clock.slice(0, 8)} UTC`;
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
