/**
 * Certificates that are not renewed, over whole lives with a fake clock: an operator is always
 * called before expiry, and never while renewals succeed (test/flow/whole-lives.test.ts).
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type { Escalation } from '../../src/core/records.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { escalationInWords } from '../../src/http/routes/escalation-view.ts';
import { certificateOf, DAY, type FakeTime, HOUR, MINUTE } from '../support/fake-time.ts';
import { isAway, refuses, startLiveLife, typesOf } from '../support/live-domain.ts';
import { sizeOfRun } from '../support/run.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

/** These lives last months: their workers wake once a day. */
const EVERY = DAY;
/** While everything goes well. */
const SELDOM = sizeOfRun({ quick: 5 * DAY, long: DAY });
const MONTH = 30 * DAY;
/** Certificates without a specific lifetime: a shorter one is quicker. */
const DAYS = sizeOfRun({ quick: 45, long: 90 });

let stored: StoredDomains;
beforeAll(async () => {
  stored = await openStoredDomains();
});
afterAll(() => stored?.close());

const live = (days: number) => startLiveLife(stored, days);

const casesOf = ({ id }: FakeTime) =>
  stored.database.prisma.escalation.findMany({
    where: { domainId: id },
    orderBy: { openedAt: 'asc' },
  });
const summaryOf = (one: Escalation | undefined) =>
  one && escalationInWords(one, 'operator')?.summary;

type Trouble = {
  readonly what: string;
  readonly begin: (life: FakeTime) => void;
  readonly cause: string;
  readonly nextAction: RegExp;
  /** The texts while the domain is served and afterwards. */
  readonly served: string;
  readonly ended: { readonly type: string; readonly status: string; readonly isOpen: boolean };
};

const waits = { type: 'certificate.ended', status: 'verified', isOpen: true };
const troubles: readonly Trouble[] = [
  {
    what: 'the CA refuses',
    begin: (life) => life.authority(refuses),
    cause: 'authority_refused',
    nextAction: /^A new order is placed at \d{4}-\d\d-\d\d \d\d:\d\d UTC; if it fails, /,
    served: 'live',
    ended: waits,
  },
  {
    what: 'the CA is down',
    begin: (life) => life.authority(isAway),
    cause: 'authority_unreachable',
    nextAction: /^The open order resumes at \d{4}-\d\d-\d\d \d\d:\d\d UTC, /,
    served: 'live',
    ended: waits,
  },
  {
    what: 'a CAA record forbids it',
    begin: (life) => life.dns('forbidden'),
    cause: 'caa_blocks',
    nextAction:
      /^The CAA records are checked at least once an hour, next at .* UTC; the certificate is renewed as soon as they allow it\.$/,
    served: 'live',
    // CAA blocks a pending domain, as before its first certificate.
    ended: { type: 'certificate.ended', status: 'pending', isOpen: true },
  },
  {
    what: 'the record leads elsewhere',
    begin: (life) => life.dns('missing'),
    cause: 'dns_changed',
    nextAction:
      /^The DNS is checked at least once an hour; the certificate is renewed as soon as the record is correct\.$/,
    served: 'drifted',
    ended: { type: 'domain.failed', status: 'failed', isOpen: false },
  },
];

/** Passes the time until the operator is called, and returns when that was. */
async function untilCalled(life: FakeTime, stepMs: number, steps: number): Promise<Date> {
  // Never in the first month.
  await life.pass(30 * DAY, SELDOM);
  expect(await casesOf(life)).toEqual([]);
  for (let step = 0; step < steps; step += 1) {
    const [one] = await casesOf(life);
    if (one !== undefined) return one.openedAt;
    await life.pass(stepMs, EVERY);
  }
  throw new Error('no operator was called');
}

describe.each(troubles)('renewals when $what', { timeout: 300_000 }, (trouble) => {
  const { begin, cause, nextAction, served, ended } = trouble;

  it('call an operator once, days before expiry, while the old certificate is served', async () => {
    const life = await live(90);
    await life.pass(5 * MONTH, SELDOM);
    expect((await typesOf(life)).filter((type) => type === 'certificate.renewed')).toHaveLength(2);
    expect(await casesOf(life)).toEqual([]);

    begin(life);
    const openedAt = await untilCalled(life, DAY, 90);
    const { status, certificateEndsAt } = await life.row();
    const endsAt = certificateEndsAt ?? openedAt;
    const daysLeft = (Number(endsAt) - Number(openedAt)) / DAY;
    expect(daysLeft).toBeLessThanOrEqual(18);
    expect(daysLeft).toBeGreaterThan(17);
    expect(status).toBe(served);
    const [opened] = await casesOf(life);
    const until = `${endsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
    expect(opened).toMatchObject({ cause, closedAt: null });
    expect(opened?.nextAction).toMatch(nextAction);
    expect(summaryOf(opened)).toContain(
      `The certificate expires on ${until} and has not been renewed. It is served until then. `,
    );

    // It is served to the last hour, with the same escalation.
    await life.pass(Number(endsAt) - Number(life.now()) - HOUR, EVERY);
    expect((await life.row()).status).toBe(served);
    expect(await casesOf(life)).toMatchObject([{ cause, openedAt, closedAt: null }]);

    await life.pass(DAY, HOUR);
    const recorded = await typesOf(life);
    expect(recorded.indexOf('escalation.opened')).toBeLessThan(recorded.lastIndexOf(ended.type));
    expect(recorded.filter((type) => type === 'escalation.opened')).toHaveLength(1);
    expect((await life.row()).status).toBe(ended.status);
    const [after, ...more] = await casesOf(life);
    expect(more).toEqual([]);
    expect(after?.closedAt === null).toBe(ended.isOpen);
    if (ended.isOpen) expect(summaryOf(after)).not.toContain('served until then');
  });

  it('close the escalation with the renewed certificate, and open none in the next months', async () => {
    const life = await live(DAYS);
    begin(life);
    await untilCalled(life, DAY, 90);
    life.dns('right');
    life.authority(certificateOf(DAYS));
    await life.pass(2 * DAY, sizeOfRun({ quick: 6 * HOUR, long: HOUR }));
    expect((await typesOf(life)).slice(-2)).toEqual(['certificate.renewed', 'escalation.closed']);
    await life.pass(7 * MONTH, SELDOM);
    expect(await casesOf(life)).toMatchObject([{ cause, closedAt: expect.any(Date) }]);
    expect((await life.row()).status).toBe('live');
  });
});

describe('the operator is called', { timeout: 300_000 }, () => {
  const lives: readonly (readonly [days: number, leftDays: number])[] = [
    [90, 18],
    [45, 9],
    [6, 1.2],
  ];
  it.each(lives)('for a certificate of %d days with %d days left', async (days, leftDays) => {
    const life = await live(days);
    life.authority(refuses);
    await life.pass((days - leftDays - 1) * DAY, SELDOM);
    await life.pass(DAY - 2 * MINUTE, HOUR);
    expect(await casesOf(life)).toEqual([]);
    await life.pass(2 * MINUTE);
    expect(await casesOf(life)).toHaveLength(1);
    expect((await life.row()).status).toBe('live');
  });

  it('at expiry at the latest, if no worker ran before', async () => {
    const life = await live(90);
    life.authority(refuses);
    await life.pass(91 * DAY, 200 * DAY);
    const sleptAt = life.now();
    expect(await casesOf(life)).toEqual([]);
    await life.pass(110 * DAY, 200 * DAY); // the workers are back on the 200th day
    const [ended, ...others] = await casesOf(life);
    expect(others).toEqual([]);
    expect(ended).toMatchObject({ closedAt: null });
    const recorded = await life.story(sleptAt);
    const at = (type: string) => recorded.find((one) => one.type === type)?.hours;
    expect(at('certificate.ended')).toBe(200 * 24);
    expect(at('escalation.opened')).toBe(200 * 24);
  });
});

describe('an escalation of a served domain', { timeout: 300_000 }, () => {
  it('changes its cause when two checks agree, and is closed by the removal', async () => {
    const life = await live(DAYS);
    life.authority(refuses);
    await untilCalled(life, DAY, 90);
    life.dns('forbidden');
    await life.pass(31 * MINUTE);
    expect(await casesOf(life)).toMatchObject([{ cause: 'authority_refused', closedAt: null }]);
    await life.pass(31 * MINUTE);
    expect(await casesOf(life)).toMatchObject([
      { cause: 'authority_refused', closedAt: expect.any(Date) },
      { cause: 'caa_blocks', closedAt: null },
    ]);
    const { projectId, hostname } = await life.row();
    await createDomainStore(stored.database.prisma).remove(
      wholeInstallation,
      { projectId, hostname },
      { at: life.now() },
    );
    expect((await casesOf(life)).map(({ closedAt }) => closedAt)).not.toContain(null);
    const at = life.now();
    await life.pass(30 * DAY, EVERY);
    expect(await typesOf(life, at)).toEqual(['domain.removed', 'escalation.closed']);
  });
});
