import type { DnsChange } from '../../diagnosis/changes/change.ts';
import type { Actor, Finding } from '../../diagnosis/findings.ts';
import type { Observation } from '../../diagnosis/observation.ts';
import { counted } from '../../names/printable.ts';
import { HOUR, MINUTE, SECOND } from '../../time.ts';
import type { DomainStatus } from '../lifecycle.ts';

/**
 * `ok`: works. `wait`: nothing to do. `warn`: someone has to act. `bad`: visitors are affected.
 * `idle`: not started or not used.
 */
export type Tone = 'ok' | 'wait' | 'warn' | 'bad' | 'idle';

export const badges = [
  'Action needed',
  'Waiting for DNS',
  'Getting certificate',
  'Live',
  'Needs attention',
  'Failed',
  'Removed',
] as const;
type Badge = (typeof badges)[number];

/** What the page offers first. */
export const summaryActions = [
  'open_dns',
  'check_now',
  'visit',
  'change_deploy',
  'change_plan',
  'start_again',
  'add_again',
] as const;
export type SummaryAction = (typeof summaryActions)[number];

export const pathSteps = ['dns', 'certificate', 'deploy'] as const;
/** The way of a visitor's request. Each step can be right or wrong at any time. */
export type PathStep = { readonly step: (typeof pathSteps)[number]; readonly tone: Tone };

/** `unknown`: not measured, and not shown. */
export type DeployHealth = 'unknown' | 'healthy' | 'down';

export type SummaryInput = {
  readonly hostname: string;
  readonly status: DomainStatus | 'removed';
  readonly findings: readonly Finding[];
  readonly changes: readonly DnsChange[];
  /** Who was queried at the last check: the zone's own servers by default. */
  readonly view?: Observation['view'];
  /** Of the zone; null: unknown. */
  readonly provider: { readonly name: string } | null;
  readonly lastCheckedAt: Date | null;
  /** Its own job or a sweep. */
  readonly nextCheckAt: Date | null;
  readonly verifiedAt: Date | null;
  /** The first of the two checks that make a live domain drifted. */
  readonly missedAt: Date | null;
  readonly windowMs: number;
  readonly certificate: {
    /** Of the newest valid one. */
    readonly expiresAt: Date | null;
    readonly hasExpired: boolean;
    /** An address of the name served another certificate, or none, at the last check. */
    readonly served?: { readonly isOther: boolean; readonly summary: string } | null;
    readonly nextAttemptAt: Date | null;
    /** Why the CA refused the newest order. */
    readonly problem: {
      readonly summary: string;
      readonly action: string;
      readonly actor: Actor;
      /** Every new order is refused until the customer acts. */
      readonly isLasting?: boolean;
    } | null;
  };
  readonly hasEscalation: boolean;
  readonly deploy: DeployHealth;
};

export type Summary = {
  readonly tone: Tone;
  readonly badge: Badge;
  /** What to do, or that there is nothing to do. Without a period, unless it has two sentences. */
  readonly headline: string;
  /** One to three sentences on why. */
  readonly text: string;
  /** For a row of a list. */
  readonly brief: string;
  readonly path: readonly PathStep[];
  readonly action: SummaryAction | null;
  /** Who must act. */
  readonly actor: Actor | null;
  /** Headline and text as sentences. */
  readonly now: string;
  /** A whole sentence if `nextAt` is null, otherwise one that the time completes. */
  readonly next: string;
  /** Null: it is running or not planned. */
  readonly nextAt: Date | null;
};

/** Before the steps and the times are put together. */
export type Situation = {
  readonly tone: Tone;
  readonly badge: Badge;
  readonly headline: string;
  readonly text: string;
  readonly brief: string;
  readonly action: SummaryAction | null;
  readonly actor: Actor | null;
  /** Tones of the path's steps. */
  readonly dns: Tone;
  readonly certificate: Tone;
  readonly next: 'first' | 'check' | 'second' | 'attempt' | 'none';
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Nov 22`, with the year if it is not this one. In UTC. */
export function dateInWords(at: Date, now: Date): string {
  const text = `${months[at.getUTCMonth()]} ${at.getUTCDate()}`;
  return at.getUTCFullYear() === now.getUTCFullYear() ? text : `${text}, ${at.getUTCFullYear()}`;
}

/** `48 hours`, `90 minutes`, `20 seconds`: the largest unit with a whole number. */
export function spanInWords(ms: number): string {
  if (ms >= HOUR && ms % HOUR === 0) return counted(ms / HOUR, 'hour');
  if (ms >= MINUTE && ms % MINUTE === 0) return counted(ms / MINUTE, 'minute');
  return counted(Math.round(ms / SECOND), 'second');
}
