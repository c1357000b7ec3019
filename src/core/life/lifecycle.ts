/**
 * The lifecycle of a domain: its states, what can happen to it, and the result.
 *
 *   pending ──▶ verified ◀──▶ live ◀──▶ drifted
 *      ▲  └──▶ failed ◀─────────────────┘
 *
 * These are the main transitions; docs/understand/life-of-a-domain.md has all. Removal is not a
 * state: it deletes the domain and bumps its epoch (src/db/domains/domains.ts).
 */
import { MINUTE } from '../time.ts';

/** `missedAt`: the first check since it was correct that found a live domain wrong. */
export type DomainState =
  | { readonly status: 'pending'; readonly pendingSince: Date }
  | { readonly status: 'verified'; readonly verifiedAt: Date }
  | { readonly status: 'live'; readonly missedAt: Date | null }
  | { readonly status: 'drifted'; readonly driftedAt: Date }
  | { readonly status: 'failed'; readonly failedAt: Date };

export type DomainStatus = DomainState['status'];

/** The edge serves the domain if it has a certificate. */
export const servedStatuses = ['live', 'drifted'] as const satisfies readonly DomainStatus[];

/** The project holds the host name: another project has to prove ownership to get it. */
export const heldStatuses = [
  'verified',
  ...servedStatuses,
] as const satisfies readonly DomainStatus[];

export function isServed({ status }: { readonly status: DomainStatus }): boolean {
  return servedStatuses.some((one) => one === status);
}

export function holdsName({ status }: { readonly status: DomainStatus }): boolean {
  return heldStatuses.some((one) => one === status);
}

/** The result of a DNS check. `unknown` changes no state. */
export type Verdict = 'right' | 'wrong' | 'unknown';

export type CheckTimes = {
  /** How long a domain can stay pending (VERIFY_WINDOW). */
  readonly windowMs: number;
  /** Divides waits (TIME_SCALE); 1 except in test labs. */
  readonly timeScale: number;
};

export type Occurrence =
  | ({ readonly kind: 'checked'; readonly verdict: Verdict } & CheckTimes)
  | { readonly kind: 'certificate_stored' }
  | { readonly kind: 'certificate_ended' }
  | { readonly kind: 'verify_requested' }
  | { readonly kind: 'claimed_elsewhere' };

export type TransitionEvent =
  | 'domain.verified'
  | 'domain.live'
  | 'domain.failed'
  | 'domain.drifted'
  | 'domain.recovered'
  | 'domain.unverified'
  | 'domain.reverify_requested'
  | 'domain.claimed_elsewhere'
  | 'certificate.ended';

/** Only `moved` records an event, sometimes in the same state. */
export type Transition =
  | { readonly kind: 'moved'; readonly to: DomainState; readonly event: TransitionEvent }
  /** At most `missedAt` changes. */
  | { readonly kind: 'stayed'; readonly to: DomainState }
  /** The occurrence is late or does not fit the state: a no-op, not an error. */
  | { readonly kind: 'refused' };

/** Two conclusive misses at least this far apart make a live domain `drifted`. */
export const drift = { apartMs: 10 * MINUTE } as const;

/** Pure and total; test/core/lifecycle.test.ts covers every pair. */
export function transition(state: DomainState, occurrence: Occurrence, now: Date): Transition {
  switch (state.status) {
    case 'pending':
      return fromPending(state, occurrence, now);
    case 'verified':
      return fromVerified(state, occurrence, now);
    case 'live':
      return fromLive(state, occurrence, now);
    case 'drifted':
      return fromDrifted(state, occurrence, now);
    case 'failed':
      return fromFailed(state, occurrence, now);
  }
}

type In<S extends DomainStatus> = Extract<DomainState, { readonly status: S }>;

function fromPending(state: In<'pending'>, occurrence: Occurrence, now: Date): Transition {
  switch (occurrence.kind) {
    case 'checked':
      if (occurrence.verdict === 'right') return verified(now);
      // Time ends the window, whatever the last check found.
      return now.getTime() >= state.pendingSince.getTime() + occurrence.windowMs
        ? failed(now)
        : { kind: 'stayed', to: state };
    case 'verify_requested':
      return pendingAgain(now, 'domain.reverify_requested');
    case 'certificate_stored':
    case 'certificate_ended':
    case 'claimed_elsewhere':
      return { kind: 'refused' };
  }
}

function fromVerified(state: In<'verified'>, occurrence: Occurrence, now: Date): Transition {
  switch (occurrence.kind) {
    case 'checked':
      return occurrence.verdict === 'wrong'
        ? pendingAgain(now, 'domain.unverified')
        : { kind: 'stayed', to: state };
    case 'certificate_stored':
      return { kind: 'moved', to: { status: 'live', missedAt: null }, event: 'domain.live' };
    case 'verify_requested':
      // It keeps its name: a requested check must not release it or delay an escalation.
      return { kind: 'moved', to: state, event: 'domain.reverify_requested' };
    case 'claimed_elsewhere':
      return pendingAgain(now, 'domain.claimed_elsewhere');
    case 'certificate_ended':
      return { kind: 'refused' };
  }
}

function fromLive(state: In<'live'>, occurrence: Occurrence, now: Date): Transition {
  switch (occurrence.kind) {
    case 'checked':
      return afterCheckOfLive(state, occurrence, now);
    case 'certificate_stored':
      return { kind: 'stayed', to: state };
    case 'certificate_ended':
      // The DNS is still correct, so it keeps its name and waits for a new certificate.
      return { ...verified(now), event: 'certificate.ended' };
    case 'claimed_elsewhere':
      return pendingAgain(now, 'domain.claimed_elsewhere');
    case 'verify_requested':
      // A requested check never takes a served domain down.
      return { kind: 'stayed', to: state };
  }
}

function fromDrifted(state: In<'drifted'>, occurrence: Occurrence, now: Date): Transition {
  switch (occurrence.kind) {
    case 'checked':
      return occurrence.verdict === 'right'
        ? { kind: 'moved', to: { status: 'live', missedAt: null }, event: 'domain.recovered' }
        : { kind: 'stayed', to: state };
    case 'certificate_ended':
      return failed(now);
    case 'claimed_elsewhere':
      return pendingAgain(now, 'domain.claimed_elsewhere');
    case 'certificate_stored':
    case 'verify_requested':
      return { kind: 'stayed', to: state };
  }
}

function fromFailed(state: In<'failed'>, occurrence: Occurrence, now: Date): Transition {
  switch (occurrence.kind) {
    case 'checked':
      return occurrence.verdict === 'right' ? verified(now) : { kind: 'stayed', to: state };
    case 'verify_requested':
      return pendingAgain(now, 'domain.reverify_requested');
    case 'certificate_stored':
    case 'certificate_ended':
    case 'claimed_elsewhere':
      return { kind: 'refused' };
  }
}

/** A single check can hit a temporary failure, so drift needs a second miss. */
function afterCheckOfLive(
  state: In<'live'>,
  { verdict, timeScale }: Extract<Occurrence, { readonly kind: 'checked' }>,
  now: Date,
): Transition {
  if (verdict === 'unknown') return { kind: 'stayed', to: state };
  if (verdict === 'right') return { kind: 'stayed', to: { status: 'live', missedAt: null } };
  if (state.missedAt === null) return { kind: 'stayed', to: { status: 'live', missedAt: now } };
  return now.getTime() - state.missedAt.getTime() >= drift.apartMs / timeScale
    ? { kind: 'moved', to: { status: 'drifted', driftedAt: now }, event: 'domain.drifted' }
    : { kind: 'stayed', to: state };
}

function verified(now: Date): Extract<Transition, { readonly kind: 'moved' }> {
  return { kind: 'moved', to: { status: 'verified', verifiedAt: now }, event: 'domain.verified' };
}

function failed(now: Date): Transition {
  return { kind: 'moved', to: { status: 'failed', failedAt: now }, event: 'domain.failed' };
}

function pendingAgain(now: Date, event: TransitionEvent): Transition {
  return { kind: 'moved', to: { status: 'pending', pendingSince: now }, event };
}
