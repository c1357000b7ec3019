/**
 * Where a domain stands, what happens next and when: the one line that the API, the pages and the command line all say.
 * Decided from what is stored; docs/lifecycle.md has the states themselves.
 */
import { type Actor, explain, type Finding, severities } from '../diagnosis/findings.ts';
import { ladder } from './ladder.ts';
import type { DomainStatus } from './lifecycle.ts';

/** A domain's status in words. */
export type Summary = {
  /** Status: a sentence or two. */
  readonly now: string;
  /** What happens next by itself: a whole sentence where `nextAt` is null, else one that the time completes. */
  readonly next: string;
  /** When `next` happens; null: it is under way, or not planned. */
  readonly nextAt: Date | null;
  /** Who has to act; null: nobody has to. */
  readonly actor: Actor | null;
};

/** Everything that the words depend on. */
export type SummaryInput = {
  readonly status: DomainStatus;
  /** The headline first. */
  readonly findings: readonly Finding[];
  /** Null: no check has run. */
  readonly lastCheckedAt: Date | null;
  /** When its own job or a batch checks it next; null: nothing is planned. */
  readonly nextCheckAt: Date | null;
  /** Null: not since it was last pending. */
  readonly verifiedAt: Date | null;
  /** The first of two checks that make a live domain drifted, where there was one. */
  readonly missedAt: Date | null;
  readonly certificate: {
    /** Null: there is none. */
    readonly expiresAt: Date | null;
    /** When an order is next worked on; null: none is planned. */
    readonly nextAttemptAt: Date | null;
    /** Whether the authority refused the newest order. */
    readonly isRefused: boolean;
  };
  readonly hasEscalation: boolean;
};

/** Returns what holds now and what comes next. Pure and total: every state has its line. */
export function summaryOf(input: SummaryInput, now: Date): Summary {
  return lines[input.status](input, now);
}

/** The whole in one line, with the time exact: `… The next check is on 2026-11-20 at 12:00:16 UTC.` */
export function summaryLine({ now, next, nextAt }: Summary): string {
  return `${now} ${nextAt === null ? next : `${next} ${exactly(nextAt)}.`}`;
}

type Line = (input: SummaryInput, now: Date) => Summary;

const lines: { readonly [S in DomainStatus]: Line } = {
  pending(input, now) {
    if (input.lastCheckedAt === null) {
      const next = soon('The first check is', 'The first check is under way.');
      return { now: 'Added. Its DNS hasn’t been checked yet.', actor: null, ...next(input, now) };
    }
    const next = isFar(input, now) ? fullCheck : nextCheck;
    return { ...troubleOf(input, 'Its DNS isn’t set up yet.'), ...next(input, now) };
  },

  verified(input, now) {
    const { certificate, findings, hasEscalation } = input;
    const [headline] = findings;
    const tried = soon('The certificate is tried for again', 'The certificate is being obtained.');
    const next = tried({ nextCheckAt: certificate.nextAttemptAt }, now);
    if (headline !== undefined && severities[headline.code] === 'blocks') {
      const { summary, actor } = explain(headline);
      return { now: `The certificate cannot be obtained yet. ${summary}`, actor, ...next };
    }
    if (hasEscalation) {
      return {
        now: 'The DNS is right, but the certificate has not come; an operator was notified.',
        actor: 'platform',
        ...next,
      };
    }
    return {
      now: certificate.isRefused
        ? 'The DNS is right; the certificate authority has refused the certificate so far.'
        : 'The DNS is right. The certificate is on its way, which takes a minute or two.',
      actor: null,
      ...next,
    };
  },

  live(input, now) {
    if (input.missedAt !== null) {
      const { now: trouble, actor } = troubleOf(input, 'At the last check its DNS was not right.');
      const next = soon('It is checked once more', 'It is being checked once more.');
      return { now: `Live, but perhaps not for long. ${trouble}`, actor, ...next(input, now) };
    }
    return { ...liveTrouble(input), ...nextCheck(input, now) };
  },

  drifted(input, now) {
    const { now: trouble, actor } = troubleOf(input, 'Its DNS leads elsewhere now.');
    const end = input.certificate.expiresAt;
    const served = end === null ? '' : ` Who still comes here is served until ${day(end)}.`;
    return { now: `No longer live. ${trouble}${served}`, actor, ...nextCheck(input, now) };
  },

  failed(input, now) {
    const { now: trouble, actor } = troubleOf(input, 'Its DNS was not right.');
    const why =
      input.verifiedAt === null
        ? 'Not live: the time to set up its DNS ran out.'
        : 'No longer live: its certificate has expired.';
    const next =
      input.nextCheckAt === null
        ? { next: 'It is no longer checked. Verify it again to restart.', nextAt: null }
        : nextCheck(input, now);
    return { now: `${why} ${trouble}`, actor, ...next };
  },
};

/** What is worth saying of a domain that is served and right: the gravest first, else that there is nothing to do. */
function liveTrouble({
  findings,
  certificate,
  hasEscalation,
}: SummaryInput): Pick<Summary, 'now' | 'actor'> {
  const [headline] = findings;
  if (hasEscalation) {
    const now = 'Live, but its certificate has not been renewed; an operator was notified.';
    return { now, actor: 'platform' };
  }
  if (headline !== undefined && severities[headline.code] !== 'informs') {
    const { summary, actor } = explain(headline);
    return { now: `Live. ${summary}`, actor };
  }
  if (certificate.isRefused) {
    const now =
      'Live; the certificate authority has refused its renewal so far. It is tried again.';
    return { now, actor: null };
  }
  return { now: 'Live. Nothing to do: its certificate renews automatically.', actor: null };
}

/** The headline, and who acts on it where anybody has to. */
function troubleOf(
  { findings: [headline] }: SummaryInput,
  otherwise: string,
): Pick<Summary, 'now' | 'actor'> {
  if (headline === undefined) return { now: otherwise, actor: null };
  const { severity, summary, actor } = explain(headline);
  return { now: summary, actor: severity === 'informs' ? null : actor };
}

const nextCheck = soon('The next check is', 'A check is under way.');
const fullCheck = soon('A change is checked at once; the next full check is', '');

/** Checks of a pending domain are that far apart only where the watch brings them forward (ladder.ts). */
function isFar({ nextCheckAt }: SummaryInput, now: Date): boolean {
  return nextCheckAt !== null && nextCheckAt.getTime() - now.getTime() > 1.2 * ladder.waitMsMax;
}

/** `when` is completed by a time to come; `under way` is said once that has come, or where there is none. */
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
