import { describe, expect, it } from 'vitest';
import { mayWake, nextAttempt } from '../../src/core/certificates/escalation.ts';
import { MINUTE } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

describe('the next attempt', () => {
  const plan = {
    hasOrder: false,
    nextCheckAt: noon,
    refusals: 0,
    recentRefusals: [],
    budgetUntil: null,
    quarantinedUntil: null,
  };
  const inMinutes = (minutes: number) => later(noon, minutes * MINUTE);
  const at = (minutes: number) => inMinutes(minutes).toISOString();

  it('is now after a wake-up, and then as planned', () => {
    const planned = { ...plan, nextCheckAt: inMinutes(70), refusals: 3 };
    expect(nextAttempt(planned, true, noon)).toEqual({
      order: 'new',
      at: at(0),
      thenAt: at(1_440),
    });
    expect(nextAttempt(planned, false, noon)).toMatchObject({ at: at(70) });
  });

  it('is never before the CA’s Retry-After', () => {
    const recentRefusals = [{ at: noon, retryAfter: inMinutes(120) }];
    const asked = { ...plan, refusals: 1, recentRefusals };
    expect(nextAttempt(asked, true, noon)).toEqual({ order: 'new', at: at(120), thenAt: at(130) });
  });

  it('is never before the CA’s rate limits allow it', () => {
    const limited = { ...plan, budgetUntil: inMinutes(57) };
    expect(nextAttempt(limited, true, noon).at).toBe(at(57));
    expect(nextAttempt({ ...limited, nextCheckAt: inMinutes(70) }, false, noon).at).toBe(at(70));
  });

  it('of a quarantined job is at its end, unless woken', () => {
    const quarantined = { ...plan, quarantinedUntil: inMinutes(55) };
    expect(nextAttempt(quarantined, false, noon).at).toBe(at(55));
    expect(nextAttempt(quarantined, true, noon).at).toBe(at(0));
  });

  it('of an open order waits when the CA postponed it', () => {
    const open = { ...plan, hasOrder: true };
    expect(mayWake({ ...open, nextCheckAt: inMinutes(5) }, noon)).toBe(true);
    expect(mayWake({ ...open, nextCheckAt: inMinutes(6) }, noon)).toBe(false);
    expect(mayWake({ ...plan, nextCheckAt: inMinutes(6) }, noon)).toBe(true);
    const postponed = { ...open, nextCheckAt: inMinutes(6) };
    expect(nextAttempt(postponed, false, noon)).toEqual({ order: 'open', at: at(6), thenAt: null });
  });
});
