import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DomainState,
  drift,
  type Occurrence,
  transition,
} from '../../src/core/life/lifecycle.ts';

const now = new Date('2026-03-01T12:00:00Z');
const windowMs = 48 * 3_600_000;
const ago = (ms: number) => new Date(now.getTime() - ms);

const occurrences = {
  right: { kind: 'checked', verdict: 'right', windowMs, timeScale: 1 },
  wrong: { kind: 'checked', verdict: 'wrong', windowMs, timeScale: 1 },
  unknown: { kind: 'checked', verdict: 'unknown', windowMs, timeScale: 1 },
  stored: { kind: 'certificate_stored' },
  ended: { kind: 'certificate_ended' },
  verify: { kind: 'verify_requested' },
  claimed: { kind: 'claimed_elsewhere' },
} as const satisfies Record<string, Occurrence>;

type OccurrenceName = keyof typeof occurrences;

const states = {
  'pending, within its window': { status: 'pending', pendingSince: ago(windowMs - 1) },
  'pending, its window over': { status: 'pending', pendingSince: ago(windowMs) },
  verified: { status: 'verified', verifiedAt: ago(60_000) },
  'live, in order': { status: 'live', missedAt: null },
  'live, missed a moment ago': { status: 'live', missedAt: ago(drift.apartMs - 1) },
  'live, missed ten minutes ago': { status: 'live', missedAt: ago(drift.apartMs) },
  drifted: { status: 'drifted', driftedAt: ago(60_000) },
  failed: { status: 'failed', failedAt: ago(60_000) },
} as const satisfies Record<string, DomainState>;

const toPending: DomainState = { status: 'pending', pendingSince: now };
const toVerified: DomainState = { status: 'verified', verifiedAt: now };
const toLive: DomainState = { status: 'live', missedAt: null };
const toDrifted: DomainState = { status: 'drifted', driftedAt: now };
const toFailed: DomainState = { status: 'failed', failedAt: now };
const missedNow: DomainState = { status: 'live', missedAt: now };

/** `stays`: unchanged; a state alone: a change without an event; a state with an event: a move. */
type Outcome = 'refused' | 'stays' | DomainState | readonly [to: DomainState, event: string];

const ended = [toVerified, 'certificate.ended'] as const;
const reverified = [toPending, 'domain.reverify_requested'] as const;
const unverified = [toPending, 'domain.unverified'] as const;
const lost = [toPending, 'domain.claimed_elsewhere'] as const;
const certificateless = { stored: 'refused', ended: 'refused', claimed: 'refused' } as const;

/** Covers every pair: a new state or occurrence needs a row to compile. */
const table: {
  readonly [S in keyof typeof states]: { readonly [O in OccurrenceName]: Outcome };
} = {
  'pending, within its window': {
    right: [toVerified, 'domain.verified'],
    wrong: 'stays',
    unknown: 'stays',
    verify: reverified,
    ...certificateless,
  },
  'pending, its window over': {
    right: [toVerified, 'domain.verified'],
    wrong: [toFailed, 'domain.failed'],
    unknown: [toFailed, 'domain.failed'],
    verify: reverified,
    ...certificateless,
  },
  verified: {
    right: 'stays',
    wrong: unverified,
    unknown: 'stays',
    stored: [toLive, 'domain.live'],
    ended: 'refused',
    // It keeps its name, its time and the time of its escalation.
    verify: [states.verified, 'domain.reverify_requested'],
    claimed: lost,
  },
  'live, in order': {
    right: 'stays',
    wrong: missedNow,
    unknown: 'stays',
    stored: 'stays',
    ended,
    verify: 'stays',
    claimed: lost,
  },
  'live, missed a moment ago': {
    right: toLive,
    wrong: 'stays',
    unknown: 'stays',
    stored: 'stays',
    ended,
    verify: 'stays',
    claimed: lost,
  },
  'live, missed ten minutes ago': {
    right: toLive,
    wrong: [toDrifted, 'domain.drifted'],
    unknown: 'stays',
    stored: 'stays',
    ended,
    verify: 'stays',
    claimed: lost,
  },
  drifted: {
    right: [toLive, 'domain.recovered'],
    wrong: 'stays',
    unknown: 'stays',
    stored: 'stays',
    ended: [toFailed, 'domain.failed'],
    verify: 'stays',
    claimed: lost,
  },
  failed: {
    right: [toVerified, 'domain.verified'],
    wrong: 'stays',
    unknown: 'stays',
    verify: reverified,
    ...certificateless,
  },
};

const names = Object.keys(occurrences) as OccurrenceName[]; // keys of a constant
const stateNames = Object.keys(states) as (keyof typeof states)[]; // keys of a constant
const pairs = stateNames.flatMap((state) => names.map((occurrence) => ({ state, occurrence })));

describe('a domain that is', () => {
  it.each(pairs)('$state, on $occurrence', ({ state, occurrence }) => {
    const outcome = table[state][occurrence];
    const step = transition(states[state], occurrences[occurrence], now);
    if (outcome === 'refused') expect(step).toEqual({ kind: 'refused' });
    else if (outcome === 'stays') expect(step).toEqual({ kind: 'stayed', to: states[state] });
    else if ('status' in outcome) expect(step).toEqual({ kind: 'stayed', to: outcome });
    else expect(step).toEqual({ kind: 'moved', to: outcome[0], event: outcome[1] });
  });
});

const anyTime = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) });
const anyState: fc.Arbitrary<DomainState> = fc.oneof(
  anyTime.map((pendingSince) => ({ status: 'pending', pendingSince }) as const),
  anyTime.map((verifiedAt) => ({ status: 'verified', verifiedAt }) as const),
  fc.option(anyTime).map((missedAt) => ({ status: 'live', missedAt }) as const),
  anyTime.map((driftedAt) => ({ status: 'drifted', driftedAt }) as const),
  anyTime.map((failedAt) => ({ status: 'failed', failedAt }) as const),
);
const anyOccurrence = fc.constantFrom(...Object.values(occurrences));
const anyRules = fc.record({
  now: anyTime,
  windowMs: fc.integer({ min: 1, max: 1e10 }),
  timeScale: fc.integer({ min: 1, max: 1_000 }),
});

type Rules = { readonly now: Date; readonly windowMs: number; readonly timeScale: number };

function stepOf(state: DomainState, occurrence: Occurrence, { now: at, ...times }: Rules) {
  return transition(state, { ...occurrence, ...times }, at);
}

function stateAfter(state: DomainState, occurrence: Occurrence, rules: Rules) {
  const step = stepOf(state, occurrence, rules);
  return step.kind === 'refused' ? state : step.to;
}

describe('for random occurrences', () => {
  it('a repetition at the same time changes nothing', () => {
    fc.assert(
      fc.property(anyState, anyOccurrence, anyRules, (state, occurrence, rules) => {
        const once = stateAfter(state, occurrence, rules);
        expect(stateAfter(once, occurrence, rules)).toEqual(once);
      }),
    );
  });

  it('only a repeated verify fires a second event', () => {
    fc.assert(
      fc.property(anyState, anyOccurrence, anyRules, (state, occurrence, rules) => {
        const again = stepOf(stateAfter(state, occurrence, rules), occurrence, rules);
        if (occurrence.kind !== 'verify_requested') expect(again.kind).not.toBe('moved');
      }),
    );
  });

  it('a check without an answer does not change a correct domain', () => {
    const settled = anyState.filter(({ status }) => status !== 'pending');
    fc.assert(
      fc.property(settled, anyRules, (state, rules) => {
        const step = stepOf(state, occurrences.unknown, rules);
        expect(step).toEqual({ kind: 'stayed', to: state });
      }),
    );
  });

  it('an event is fired exactly when the status changes or verify is called', () => {
    fc.assert(
      fc.property(anyState, anyOccurrence, anyRules, (state, occurrence, rules) => {
        const step = stepOf(state, occurrence, rules);
        if (step.kind === 'stayed') expect(step.to.status).toBe(state.status);
        if (step.kind === 'moved' && step.to.status === state.status) {
          expect(step.event).toBe('domain.reverify_requested');
        }
      }),
    );
  });

  it('a domain loses its name only by its DNS or to another project', () => {
    const holding = anyState.filter(({ status }) => !['pending', 'failed'].includes(status));
    fc.assert(
      fc.property(holding, anyOccurrence, anyRules, (state, occurrence, rules) => {
        fc.pre(occurrence.kind !== 'checked' && occurrence.kind !== 'claimed_elsewhere');
        const { status } = stateAfter(state, occurrence, rules);
        // A drifted domain's DNS has pointed elsewhere for long.
        if (state.status !== 'drifted') expect(['verified', 'live']).toContain(status);
        else expect(status).not.toBe('pending');
      }),
    );
  });
});

it('confirms a drift sooner with TIME_SCALE', () => {
  const verdictAfter = (ms: number) =>
    transition({ status: 'live', missedAt: ago(ms) }, { ...occurrences.wrong, timeScale: 100 }, now)
      .kind;
  expect([verdictAfter(5_999), verdictAfter(6_000)]).toEqual(['stayed', 'moved']);
});
