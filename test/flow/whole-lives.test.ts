/** Whole lives with a fake clock: 48 hours, 30 days, a year. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { later } from '../support/builders.ts';
import { certificateOf, DAY, HOUR, MINUTE, startLife } from '../support/fake-time.ts';
import { isAway, refuses, startLiveLife, typesOf } from '../support/live-domain.ts';
import { isLongRun, rowsOfRun, sizeOfRun } from '../support/run.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

/** The interval of sweeps (workers/running/work-times.ts). */
const SWEEP = 10_000;

/** The wake interval of workers when hours do not matter: a wake costs a dozen statements. */
const SELDOM = sizeOfRun({ quick: 3 * DAY, long: 6 * HOUR });

let stored: StoredDomains;
beforeAll(async () => {
  stored = await openStoredDomains();
});
afterAll(() => stored?.close());

const live = (days?: number) => startLiveLife(stored, days);

describe('a domain whose record never appears', { timeout: 300_000 }, () => {
  it('fails at 48 hours, is checked for 30 more days, and may start again', async () => {
    const life = await startLife(stored);
    await life.pass(48 * HOUR, sizeOfRun({ quick: HOUR, long: 1 }));
    expect(await life.story()).toEqual([
      { type: 'domain.added', hours: 0 },
      { type: 'domain.findings_changed', hours: 0 },
      { type: 'domain.failed', hours: 48 },
    ]);
    const { attempts: inTheWindow } = await life.row();
    if (isLongRun) expect(inTheWindow).toBe(639); // docs/understand/life-of-a-domain.md: about 640

    await life.pass(60 * DAY);
    const { status, attempts, recheckAt } = await life.row();
    expect({ status, checkTimes: attempts - inTheWindow, recheckAt }).toEqual({
      status: 'failed',
      checkTimes: 30,
      recheckAt: null,
    });
    expect(await life.story()).toHaveLength(3);

    const { projectId, hostname } = await life.row();
    const domains = createDomainStore(stored.database.prisma);
    await domains.requestVerify(wholeInstallation, projectId, hostname, life.now());
    life.dns('right');
    await life.pass(MINUTE);
    expect((await typesOf(life)).slice(3)).toEqual([
      'domain.reverify_requested',
      'domain.findings_changed',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
  });

  it('goes live when the record appears on the 20th day', async () => {
    const life = await startLife(stored);
    await life.pass(20 * DAY, HOUR);
    life.dns('right');
    await life.pass(DAY);
    const [, , failed, , verified, , alive] = await life.story();
    expect(failed).toEqual({ type: 'domain.failed', hours: 48 });
    expect(verified?.type).toBe('domain.verified');
    expect(verified?.hours).toBeGreaterThan(20 * 24);
    expect(verified?.hours).toBeLessThanOrEqual(21 * 24);
    expect(alive).toEqual({ type: 'domain.live', hours: verified?.hours });
  });
});

describe('a live domain', { timeout: 300_000 }, () => {
  const underOne = 1 - Number.EPSILON;
  const draws: readonly (readonly [string, readonly number[]])[] = [
    ['the shortest waits', [0]],
    ['the average ones', [0.5]],
    ['the longest', [underOne]],
    ['all of them in turns', [0, 0.5, underOne, underOne]],
  ];
  it.each(rowsOfRun(draws, ([, drawn]) => drawn.length > 1))(
    'is checked at least once an hour among others: %s',
    async (_, drawn) => {
      let draw = 0;
      const jitter = () => drawn[draw++ % drawn.length] ?? 0;
      const life = await startLife(stored, { others: 4, jitter });
      life.dns('right');
      await life.pass(MINUTE);
      const from = life.now();
      await life.pass(DAY, SWEEP);
      expect(life.checkTimes().size).toBe(5);
      for (const checkTimes of life.checkTimes().values()) {
        const times = [from, ...checkTimes.filter((at) => at > from), life.now()].map(Number);
        const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(HOUR);
        expect(gaps.length).toBeLessThan(36);
      }
    },
  );

  it('drifts within 70 minutes of a change, once, and recovers within minutes', async () => {
    const life = await live();
    const changedAt = life.now();
    life.dns('missing');
    await life.pass(3 * HOUR);
    const [found, drifted, ...more] = await life.story(changedAt);
    expect([found?.type, drifted?.type, more]).toEqual([
      'domain.findings_changed',
      'domain.drifted',
      [],
    ]);
    const changedHours = (Number(changedAt) - Number((await life.row()).addedAt)) / HOUR;
    expect((found?.hours ?? 0) - changedHours).toBeLessThanOrEqual(1);
    const between = ((drifted?.hours ?? 0) - (found?.hours ?? 0)) * 60;
    expect(between).toBeCloseTo(10, 6);

    const repairedAt = life.now();
    life.dns('right');
    await life.pass(16 * MINUTE);
    expect(await typesOf(life, repairedAt)).toEqual([
      'domain.findings_changed',
      'domain.recovered',
    ]);
  });

  it('does not drift after one missed check', async () => {
    const life = await live();
    const since = life.now();
    life.dns('missing');
    while ((await life.row()).missedAt === null) await life.pass(MINUTE);
    life.dns('right');
    await life.pass(3 * HOUR);
    expect(await typesOf(life, since)).toEqual([
      'domain.findings_changed',
      'domain.findings_changed',
    ]);
    expect(await life.row()).toMatchObject({ status: 'live', missedAt: null });
  });

  it('fails when it is drifted and its certificate expires, and recovers with its record', async () => {
    const life = await live();
    const { certificateEndsAt } = await life.row();
    life.dns('missing');
    await life.pass(89 * DAY, SELDOM);
    expect((await life.row()).status).toBe('drifted');
    expect(await life.orders()).toBe(1); // a domain that is not right gets no order
    await life.pass(2 * DAY, HOUR);
    const ended = await life.row();
    expect(ended).toMatchObject({ status: 'failed', renewAt: null, failedAt: certificateEndsAt });
    expect((await typesOf(life)).slice(-4)).toEqual([
      'domain.drifted',
      'escalation.opened', // test/flow/renewal-escalation.test.ts
      'domain.failed',
      'escalation.closed',
    ]);

    life.dns('right');
    await life.pass(DAY);
    expect((await typesOf(life)).slice(-4)).toEqual([
      'domain.findings_changed',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
    expect((await life.row()).certificateEndsAt).toEqual(expect.any(Date));
  });
});

describe('renewals', { timeout: 300_000 }, () => {
  const lives: readonly (readonly [
    days: number,
    overDays: number,
    everyMs: number,
    times: number,
  ])[] = [
    [
      90,
      sizeOfRun({ quick: 120, long: 365 }),
      sizeOfRun({ quick: 3 * DAY, long: DAY }),
      sizeOfRun({ quick: 2, long: 6 }),
    ],
    [
      45,
      sizeOfRun({ quick: 60, long: 365 }),
      sizeOfRun({ quick: 2 * DAY, long: DAY }),
      sizeOfRun({ quick: 2, long: 12 }),
    ],
    [6, sizeOfRun({ quick: 12, long: 60 }), 6 * HOUR, sizeOfRun({ quick: 4, long: 20 })],
  ];
  it.each(lives)('every %d days keep it live for %d', async (days, overDays, everyMs, times) => {
    const life = await live(days);
    for (let passed = 0; passed < overDays; passed += days / 6) {
      await life.pass((days / 6) * DAY, everyMs);
      const { status, certificateEndsAt } = await life.row();
      expect(status).toBe('live');
      expect(Number(certificateEndsAt)).toBeGreaterThan(
        Number(later(life.now(), (days / 5) * DAY)),
      );
    }
    const renewals = (await typesOf(life)).filter((type) => type === 'certificate.renewed');
    expect(renewals.length).toBeGreaterThanOrEqual(times - 1);
    expect(renewals.length).toBeLessThanOrEqual(times + 1);
    expect(await life.orders()).toBe(renewals.length + 1);
    expect(await typesOf(life)).not.toContain('escalation.opened');
  });

  it('wait with one order for a CA that is down, and succeed when it is up', async () => {
    const life = await live();
    life.authority(isAway);
    await life.pass(80 * DAY, SELDOM);
    expect((await life.row()).status).toBe('live');
    expect(await life.orders()).toBe(2);
    const backAt = life.now();
    life.authority(certificateOf(90));
    await life.pass(5 * MINUTE);
    expect(await typesOf(life, backAt)).toEqual(['certificate.renewed', 'escalation.closed']);
    expect(await life.orders()).toBe(2);
  });

  it('that are refused are retried at 0, 1, 11 and 100 minutes and then daily, with an event each', async () => {
    const life = await live();
    await life.pass(58 * DAY, sizeOfRun({ quick: 7 * DAY, long: DAY }));
    life.authority(refuses);
    const since = life.now();
    while (!(await typesOf(life, since)).includes('certificate.failed')) await life.pass(HOUR);
    await life.pass(3 * DAY);
    const times = (await life.story(since)).map(({ hours }) => hours * 60);
    const [first = 0] = times;
    const DAY_MIN = 24 * 60;
    expect(times.slice(0, 6).map((time) => Math.round(time - first))).toEqual([
      0,
      1,
      11,
      100,
      100 + DAY_MIN,
      100 + 2 * DAY_MIN,
    ]);
    // Without a renewal, the domain waits for another certificate after expiry.
    await life.pass(40 * DAY, SELDOM);
    expect(await typesOf(life)).toContain('certificate.ended');
    expect(await typesOf(life)).not.toContain('domain.unverified');
    expect((await life.row()).status).toBe('verified');
    life.authority(certificateOf(90));
    await life.pass(2 * DAY, HOUR);
    expect((await typesOf(life)).slice(-3)).toEqual([
      'certificate.issued',
      'domain.live',
      'escalation.closed', // opened long before expiry
    ]);
  });

  it('that CAA forbids place no order: a finding comes early, and they succeed when it is gone', async () => {
    const life = await live();
    const forbiddenAt = life.now();
    life.dns('forbidden');
    await life.pass(80 * DAY, SELDOM);
    expect(await typesOf(life, forbiddenAt)).toEqual([
      'domain.findings_changed',
      'escalation.opened',
    ]);
    expect((await life.row()).status).toBe('live');
    expect(await life.orders()).toBe(1);
    life.dns('right');
    await life.pass(2 * HOUR);
    expect((await typesOf(life)).slice(-2)).toEqual(['certificate.renewed', 'escalation.closed']);
  });
});
