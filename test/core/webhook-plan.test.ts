import { describe, expect, it } from 'vitest';
import {
  type AttemptMade,
  decideAttempt,
  deliveryWaitsMs,
  FAILING_MS,
  type WebhookResponse,
} from '../../src/core/operations/webhook-plan.ts';
import { DAY, HOUR, SECOND } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

const answered = (status: number, retryAfter: string | null = null): WebhookResponse => ({
  kind: 'answered',
  status,
  retryAfter,
});
const silent: WebhookResponse = { kind: 'unanswered', problem: 'timed_out' };

function decide(answer: WebhookResponse, parts: Partial<AttemptMade> = {}) {
  return decideAttempt({
    answer,
    attempts: 0,
    failingSince: null,
    now: noon,
    timeScale: 1,
    jitter: 0.5,
    ...parts,
  });
}

describe('an attempt', () => {
  it.each([200, 201, 204, 299])('with the response %d has delivered', (status) => {
    expect(decide(answered(status))).toEqual({ kind: 'delivered', httpStatus: status });
  });

  const missed: readonly (readonly [WebhookResponse, string, number | null])[] = [
    [answered(199), 'not_accepted', 199],
    [answered(301), 'redirected', 301],
    [answered(308), 'redirected', 308],
    [answered(400), 'not_accepted', 400],
    [answered(404), 'not_accepted', 404],
    [answered(500), 'not_accepted', 500],
    [silent, 'timed_out', null],
    [{ kind: 'unanswered', problem: 'address_refused' }, 'address_refused', null],
  ];
  it.each(missed)('with the response %j is repeated and reports %s', (answer, problem, status) => {
    expect(decide(answer)).toEqual({
      kind: 'again',
      at: later(noon, 5 * SECOND),
      problem,
      httpStatus: status,
    });
  });

  it('with the response 410 is the last one and disables the webhook', () => {
    const verdict = { kind: 'failed', problem: 'gone', httpStatus: 410, disables: 'gone' };
    expect(decide(answered(410))).toEqual(verdict);
  });
});

describe('the retries', () => {
  const rows: readonly (readonly [attempt: number, waitMs: number])[] = [
    [1, 5 * SECOND],
    [2, 300 * SECOND],
    [3, HOUR / 2],
    [4, 2 * HOUR],
    [5, 5 * HOUR],
    [6, 10 * HOUR],
    [7, 10 * HOUR],
  ];
  it.each(rows)('wait after attempt %d for %d ms', (attempt, waitMs) => {
    expect(decide(silent, { attempts: attempt - 1 })).toMatchObject({ at: later(noon, waitMs) });
  });

  it('end after 8 attempts over 27.6 hours with a failed delivery', () => {
    expect(deliveryWaitsMs).toHaveLength(7);
    const hours = deliveryWaitsMs.reduce((sum, wait) => sum + wait, 0) / HOUR;
    expect(hours.toFixed(1)).toBe('27.6');
    expect(decide(silent, { attempts: 7 })).toEqual({
      kind: 'failed',
      problem: 'timed_out',
      httpStatus: null,
      disables: null,
    });
  });

  it('have a jitter of 10% each way', () => {
    const least = decide(silent, { attempts: 3, jitter: 0 });
    const most = decide(silent, { attempts: 3, jitter: 1 });
    expect(least).toMatchObject({ at: later(noon, 1.8 * HOUR) });
    expect(most).toMatchObject({ at: later(noon, 2.2 * HOUR) });
  });

  it('are scaled by TIME_SCALE down to a quarter of a second', () => {
    const timeScale = 1_000;
    expect(decide(silent, { timeScale })).toMatchObject({ at: later(noon, 250) });
    expect(decide(silent, { timeScale, attempts: 2 })).toMatchObject({ at: later(noon, 1_800) });
  });
});

describe('a receiver', () => {
  const rows: readonly (readonly [status: number, asked: string, waitMs: number])[] = [
    [429, '60', 60 * SECOND],
    [503, '60', 60 * SECOND],
    [503, 'Fri, 20 Nov 2026 13:00:00 GMT', HOUR],
    [429, '1', 5 * SECOND], // never earlier than the usual retry
    [503, 'Fri, 20 Nov 2026 11:00:00 GMT', 5 * SECOND],
    [429, '99999999999', DAY],
    [429, 'soon', 5 * SECOND],
    [429, '-5', 5 * SECOND],
    [500, '60', 5 * SECOND],
  ];
  it.each(rows)(
    'that answers %d (Retry-After: %s) gets the next attempt after %d ms',
    (status, asked, waitMs) => {
      expect(decide(answered(status, asked))).toMatchObject({ at: later(noon, waitMs) });
    },
  );

  it('gets no attempt after the last one', () => {
    expect(decide(answered(429, '60'), { attempts: 7 })).toMatchObject({ kind: 'failed' });
  });
});

describe('a webhook without a successful delivery', () => {
  it.each([
    [FAILING_MS - 1, null],
    [FAILING_MS, 'failing'],
  ] as const)('for %d ms ends as %s', (ms, disables) => {
    const failingSince = later(noon, -ms);
    expect(decide(silent, { attempts: 7, failingSince })).toMatchObject({ disables });
  });
});
