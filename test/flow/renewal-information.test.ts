/**
 * Whole lives with renewal information (RFC 9773) and a fake clock: whatever the CA returns, no
 * renewal is late, and every problem is reported.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RenewalInformation, Silence } from '../../src/certificates/authorities/authority.ts';
import { askAgainAt } from '../../src/core/certificates/renewal-information.ts';
import type { Certificate } from '../../src/core/records.ts';
import { later } from '../support/builders.ts';
import { DAY, type FakeTime, HOUR, MINUTE } from '../support/fake-time.ts';
import { refuses, startLiveLife, typesOf } from '../support/live-domain.ts';
import { rowsOfRun, sizeOfRun } from '../support/run.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const silent: Silence = { kind: 'silence', retryAfter: null, isAway: true };

let stored: StoredDomains;
beforeAll(async () => {
  stored = await openStoredDomains();
});
afterAll(() => stored?.close());

const live = (days: number) => startLiveLife(stored, days);

/** A window as shares of the certificate's life, at this moment. */
function window(
  { issuedAt, expiresAt }: Certificate,
  [from, to]: readonly [number, number],
  now: Date,
): RenewalInformation {
  const [issued, ends] = [Number(issuedAt), Number(expiresAt)];
  const at = (share: number) => new Date(issued + (ends - issued) * share);
  return {
    window: { start: at(from), end: at(to) },
    explanationUrl: null,
    askAgainAt: askAgainAt(now, null),
  };
}

/** The certificates, oldest first, with the share of its life after which each was replaced. */
async function renewals({ id }: FakeTime) {
  const certificates = await stored.database.prisma.certificate.findMany({
    where: { domainId: id, status: 'issued' },
    orderBy: { createdAt: 'asc' },
  });
  return certificates.slice(0, -1).map(({ issuedAt, expiresAt }, nth) => {
    const next = Number(certificates[nth + 1]?.issuedAt);
    return (next - Number(issuedAt)) / (Number(expiresAt) - Number(issuedAt));
  });
}

const lives: readonly (readonly [days: number, overDays: number, everyMs: number])[] = [
  [90, sizeOfRun({ quick: 150, long: 365 }), DAY],
  [45, sizeOfRun({ quick: 90, long: 180 }), DAY],
  [6, 24, 6 * HOUR],
];
/** When they are renewed at the latest, as shares of the life: by our own plan, and whatever the CA suggests. */
const latestOf = (days: number) =>
  days < 10 ? { own: 1 / 2, suggested: 1 / 2 } : { own: 2 / 3, suggested: 3 / 4 };
/** Each lifetime once, as the CA's response does not depend on it. */
const livesOf = (quickDays: number) => rowsOfRun(lives, ([days]) => days === quickDays);

describe('renewal windows of certificates', { timeout: 300_000 }, () => {
  it.each(livesOf(90))('of %d days that keep moving are followed', async (days, over, every) => {
    const life = await live(days);
    let asked = 0;
    life.wantsRenewal((certificate, now) => {
      // Earlier and later, by up to a tenth of its life.
      const shift = Math.sin(asked++) / 10;
      return window(certificate, [0.5 + shift, 0.55 + shift], now);
    });
    await life.pass(over * DAY, every);
    const shares = await renewals(life);
    expect(shares.length).toBeGreaterThan(over / days / 0.7 - 1);
    expect(Math.min(...shares)).toBeGreaterThan(0.39);
    expect(Math.max(...shares)).toBeLessThan(0.66 + (2 * every) / (days * DAY));
    expect(asked).toBeGreaterThan(0.8 * ((over * DAY) / every));
    expect(asked).toBeLessThanOrEqual((over * DAY) / every + 2);
    expect(await typesOf(life)).not.toContain('escalation.opened');
    expect((await life.row()).status).toBe('live');
  });

  it.each(livesOf(45))('of %d days always tomorrow delay no renewal', async (days, over, every) => {
    const life = await live(days);
    life.wantsRenewal((certificate, now) => ({
      ...window(certificate, [0, 1], now),
      window: { start: later(now, DAY), end: later(now, 2 * DAY) },
    }));
    await life.pass(over * DAY, every);
    const shares = await renewals(life);
    expect(shares.length).toBeGreaterThan(over / days / 0.8 - 1);
    for (const share of shares) {
      expect(share).toBeGreaterThan(latestOf(days).suggested - 0.06);
      expect(share).toBeLessThan(latestOf(days).suggested + every / (days * DAY));
    }
    expect(await typesOf(life)).not.toContain('escalation.opened');
    expect((await life.row()).status).toBe('live');
  });
});

describe('a CA that fails for renewal information', { timeout: 300_000 }, () => {
  it.each(livesOf(6))('renews those of %d days by our own plan', async (days, over, every) => {
    const life = await live(days);
    let asked = 0;
    life.wantsRenewal(() => {
      asked += 1;
      return silent;
    });
    await life.pass(over * DAY, every);
    const shares = await renewals(life);
    const { own } = latestOf(days);
    expect(shares.length).toBeGreaterThan(over / days / (own + 0.053) - 1);
    for (const share of shares) {
      expect(share).toBeGreaterThan(own - 0.051);
      expect(share).toBeLessThan(own + every / (days * DAY));
    }
    // At most six times on the first day of each, and then about once a day.
    expect(asked).toBeLessThan(1.6 * over + 6 * (shares.length + 1));
    expect(await typesOf(life)).not.toContain('escalation.opened');
  });

  it('has its previous window kept', async () => {
    const life = await live(90);
    life.wantsRenewal((certificate, now) => window(certificate, [0.2, 0.21], now));
    await life.pass(DAY, HOUR);
    life.wantsRenewal(() => silent);
    await life.pass(20 * DAY, 12 * HOUR);
    const [share] = await renewals(life);
    expect(share).toBeGreaterThan(0.19);
    expect(share).toBeLessThan(0.22);
  });
});

describe('a window that moves into the past', { timeout: 300_000 }, () => {
  it('triggers one renewal with the next query', async () => {
    const life = await live(90);
    const usual = [0.66, 0.68] as const;
    life.wantsRenewal((certificate, now) => window(certificate, usual, now));
    await life.pass(10 * DAY, DAY);
    const [first] = await stored.database.prisma.certificate.findMany({
      where: { domainId: life.id },
    });
    const movedAt = life.now();
    life.wantsRenewal((certificate, now) =>
      window(certificate, certificate.id === first?.id ? [0, 0.01] : usual, now),
    );
    await life.pass(6 * HOUR + 2 * MINUTE, MINUTE);
    expect((await life.story(movedAt)).map(({ type }) => type)).toEqual(['certificate.renewed']);
    expect(await life.orders()).toBe(2);
    await life.pass(30 * DAY, DAY);
    expect(await life.orders()).toBe(2);
  });

  it('leaves a refused renewal to its retries, and an operator is called in the end', async () => {
    const life = await live(90);
    await life.pass(10 * DAY, DAY);
    life.authority(refuses);
    const since = life.now();
    const { prisma } = stored.database;
    await prisma.domain.updateMany({ where: { id: life.id }, data: { renewalInfoAt: since } });
    life.wantsRenewal((certificate, now) => window(certificate, [0, 0.01], now));
    // Every minute around the first five attempts; the long run has every minute of the four days.
    const between = sizeOfRun({ quick: HOUR, long: MINUTE });
    await life.pass(2 * HOUR, MINUTE);
    await life.pass(23 * HOUR, between);
    await life.pass(2 * HOUR, MINUTE);
    await life.pass(69 * HOUR, between);
    const tries = (await life.story(since)).filter(({ type }) => type === 'certificate.failed');
    const [first] = tries;
    expect(
      tries.slice(0, 5).map(({ hours }) => Math.round((hours - (first?.hours ?? 0)) * 60)),
    ).toEqual([0, 1, 11, 100, 100 + 24 * 60]);
    expect(tries).toHaveLength(7);
    await life.pass(62 * DAY, DAY);
    const opened = (await life.story()).find(({ type }) => type === 'escalation.opened');
    expect((opened?.hours ?? 0) / 24).toBeCloseTo(72, 0);
    expect((await life.row()).status).toBe('live');
  });
});
