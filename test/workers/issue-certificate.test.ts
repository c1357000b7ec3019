import { describe, expect, it } from 'vitest';
import type { BudgetWait } from '../../src/core/certificates/budget.ts';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, MINUTE } from '../../src/core/time.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { aDomain, aRefusal, later, noon, unknown } from '../support/builders.ts';
import { aCertificate, orderWorld, refused, type Situation } from './order-world.ts';

const verified = aDomain({ state: { status: 'verified', verifiedAt: noon } });
const job = { domainId: verified.id, epoch: 1 };

const world = (situation: Situation) => orderWorld(verified, situation);

describe('the certificate of a verified domain', () => {
  it('is ordered and stored', async () => {
    const { service, did } = world({});
    expect(await issueCertificate(service, job)).toEqual({ kind: 'done' });
    expect(did).toEqual(['open order', 'advance the new order', 'store', 'forget the escalation']);
  });

  it('comes from the open order if there is one', async () => {
    const { service, did } = world({ work: { order: aCertificate() } });
    await issueCertificate(service, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is the previous one while more than a third of its life is left', async () => {
    const usable = aCertificate({ issuedAt: noon, expiresAt: later(noon, 90 * DAY) });
    const { service, did } = world({ work: { usable } });
    await issueCertificate(service, job);
    expect(did).toEqual(['reuse', 'forget the escalation']);
  });

  it('is served again when another edge has its key', async () => {
    const life = { issuedAt: noon, expiresAt: later(noon, 90 * DAY) };
    const usable = aCertificate({ ...life, sealedKey: null });
    const { service, did } = world({ work: { usable } });
    await issueCertificate(service, job);
    expect(did).toContain('store');
    expect(did).not.toContain('reuse');
  });

  it('is ordered again when the previous one is about to expire', async () => {
    const usable = aCertificate({
      issuedAt: later(noon, -60 * DAY),
      expiresAt: later(noon, 30 * DAY),
    });
    const { service, did } = world({ work: { usable } });
    await issueCertificate(service, job);
    expect(did).toContain('store');
  });

  const plan: readonly (readonly [number, number])[] = [
    [0, MINUTE],
    [1, 10 * MINUTE],
    [2, 89 * MINUTE],
    [3, DAY],
    [9, DAY],
  ];
  it.each(plan)('after %d refusals waits %d ms after the next', async (refusals, wait) => {
    const before = aRefusal({ at: later(noon, -DAY) });
    const recentRefusals = Array.from({ length: refusals }, () => before);
    const { service, planned } = world({ work: { recentRefusals }, result: refused });
    expect(await issueCertificate(service, job)).toMatchObject({
      kind: 'again',
      at: later(noon, wait),
      note: 'refused: unauthorized',
    });
    expect(planned).toEqual([later(noon, wait)]);
  });

  it("is not ordered before the CA's Retry-After", async () => {
    const retryAfter = later(noon, 3 * DAY);
    const problem = { type: 'rate_limited', detail: 'too many', retryAfter } as const;
    const { service } = world({ result: { kind: 'refused', problem } });
    expect(await issueCertificate(service, job)).toMatchObject({ at: retryAfter });
  });

  it('keeps its order open when the CA is unreachable, and resumes it', async () => {
    const { service, did } = world({
      result: { kind: 'unavailable', retryAfter: null, detail: 'ca_unreachable: no answer' },
    });
    expect(await issueCertificate(service, job)).toMatchObject({ at: later(noon, 15_000) });
    expect(did).toEqual([
      'open order',
      'advance the new order',
      'set back: ca_unreachable: no answer',
      'postpone',
    ]);
  });

  it('waits for the Retry-After of a busy CA', async () => {
    const retryAfter = later(noon, 60 * MINUTE);
    const { service } = world({
      result: { kind: 'unavailable', retryAfter, detail: 'ca_failed: 503' },
    });
    expect(await issueCertificate(service, job)).toMatchObject({ at: retryAfter });
  });

  const limited: BudgetWait = {
    limit: 'registrable_domain',
    subject: 'shop.test',
    until: later(noon, 202 * MINUTE),
  };
  it.each<readonly [string, Situation]>([
    ['known when loaded', { work: { budgetWaits: [limited] } }],
    ['found when the order is opened', { limited }],
  ])('is not ordered before a rate limit allows it, %s', async (_when, situation) => {
    const { service, did } = world(situation);
    expect(await issueCertificate(service, job)).toEqual({
      kind: 'again',
      at: limited.until,
      note: 'the authority allows 50 certificates in 7 days for shop.test and all names below it; the next order is possible at 2026-11-20T15:22:00.000Z',
    });
    expect(did).toEqual(['postpone']);
  });

  it('with an open order ignores the rate limits', async () => {
    const { service, did } = world({ work: { budgetWaits: [limited], order: aCertificate() } });
    await issueCertificate(service, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is not ordered before Retry-After, even in a new epoch', async () => {
    const retryAfter = later(noon, 3 * DAY);
    const recentRefusals = [aRefusal({ at: later(noon, -MINUTE), retryAfter })];
    const { service, did } = world({ work: { recentRefusals } });
    expect(await issueCertificate(service, job)).toMatchObject({ at: retryAfter });
    expect(did).toEqual(['postpone']);
  });

  it('with an open order ignores Retry-After from before', async () => {
    const recentRefusals = [aRefusal({ retryAfter: later(noon, DAY) })];
    const { service, did } = world({ work: { recentRefusals, order: aCertificate() } });
    await issueCertificate(service, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is not ordered for a domain that was removed', async () => {
    const { service, did } = world({});
    Object.assign(service.certificates, { openOrder: async () => null });
    expect(await issueCertificate(service, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });

  it('is not ordered when the DNS has changed: the domain is pending again', async () => {
    const { service, did, saves } = world({ seen: 'missing' });
    expect(await issueCertificate(service, job)).toEqual({ kind: 'done' });
    expect(saves[0]?.change).toMatchObject({ kind: 'moved', to: { status: 'pending' } });
    expect(did).toEqual([`check-dns ${job.domainId}.2`, 'forget the escalation']);
  });

  it('waits a minute when the DNS is unknown', async () => {
    const { service, did, saves } = world({ seen: 'unknown' });
    expect(await issueCertificate(service, job)).toMatchObject({ at: later(noon, MINUTE) });
    expect(did).toEqual([]);
    expect(saves[0]?.change).toMatchObject({
      kind: 'stayed',
      findings: unknown.findings,
      nextCheckAt: later(noon, MINUTE),
    });
  });
});

describe('the challenge probe before a new order', () => {
  const good: Probe = { address: '192.0.2.1', outcome: 'reachable' };
  const bad: readonly (readonly [string, Probe])[] = [
    ['[2001:db8::1] refuses', { address: '2001:db8::1', outcome: 'refused' }],
    ['is silent', { address: '192.0.2.2', outcome: 'timeout' }],
    ['belongs to another server', { address: '192.0.2.2', outcome: 'other_answer', status: 404 }],
  ];
  it.each(bad)('queries each address: one %s, and the order waits', async (_what, one) => {
    const { service, did, probed } = world({ probes: [good, one] });
    expect(await issueCertificate(service, job)).toMatchObject({
      at: later(noon, 15_000),
      note: expect.stringMatching(`^no order yet: on port 80, ${one.address} `),
    });
    expect([probed, did]).toEqual([[verified.hostname], ['postpone']]);
  });

  const harmless: readonly (readonly [string, readonly Probe[]])[] = [
    ['all respond', [good]],
    ['one has no route from here', [good, { address: '2001:db8::1', outcome: 'no_route' }]],
    ['one is a reserved address', [{ address: '10.0.0.1', outcome: 'reserved' }]],
    ['probing is disabled', []],
  ];
  it.each(harmless)('allows the order when %s', async (_what, probes) => {
    const { service, did } = world({ probes });
    await issueCertificate(service, job);
    expect(did[0]).toBe('open order');
  });

  it('is repeated after a tenth of the time, within five minutes', async () => {
    const probes = [{ address: '192.0.2.2', outcome: 'timeout' }] as const;
    const since = (minutes: number) =>
      aDomain({ state: { status: 'verified', verifiedAt: later(noon, -minutes * MINUTE) } });
    for (const [minutes, wait] of [
      [20, 2],
      [500, 5],
    ] as const) {
      const { service } = orderWorld(since(minutes), { probes });
      const at = later(noon, wait * MINUTE);
      expect(await issueCertificate(service, job)).toMatchObject({ at });
    }
  });

  const open: readonly (readonly [string, Partial<Certificate>, readonly unknown[]])[] = [
    [
      'not repeated once it is placed',
      { orderUrl: 'https://ca.test/1' },
      [0, 'advance the open order'],
    ],
    ['repeated while it is not placed', { orderUrl: null }, [1, 'postpone']],
    ['skipped when another edge has it', { sealedKey: null }, [0, 'advance the open order']],
  ];
  it.each(open)('of an open order is %s', async (_what, order, [asked, first]) => {
    const probes = [{ address: '192.0.2.2', outcome: 'timeout' }] as const;
    const { service, did, probed } = world({ work: { order: aCertificate(order) }, probes });
    await issueCertificate(service, job);
    expect([probed.length, did[0]]).toEqual([asked, first]);
  });
});

describe('an order that another run has ended', () => {
  it('is retried at once: its certificate may be usable, and its escalation stays', async () => {
    const { service, did } = world({ lost: true });
    expect(await issueCertificate(service, job)).toMatchObject({ kind: 'again' });
    expect(did).toEqual(['open order', 'advance the new order', 'store']);
  });

  it.each([
    ['refused', refused],
    ['not finished', { kind: 'unavailable', retryAfter: null, detail: 'busy' }],
  ] as const)('is retried at once, which ends a job of an old epoch: %s', async (_what, result) => {
    const { service } = world({ lost: true, result });
    expect(await issueCertificate(service, job)).toMatchObject({ at: later(noon, 1_000) });
  });
});

describe('an open order with Retry-After', () => {
  it.each([
    ['is left alone, whatever woke the job', later(noon, MINUTE), 'postpone'],
    ['continues after that time', noon, 'advance the open order'],
  ] as const)('%s', async (_what, retryAfter, first) => {
    const at = later(noon, -MINUTE);
    const setback = { at, since: at, answered: false, detail: 'ca_failed: 503', retryAfter };
    const { service, did } = world({ work: { order: aCertificate(), setback } });
    await issueCertificate(service, job);
    expect(did[0]).toBe(first);
  });
});

describe('a job that comes too late', () => {
  const late: readonly (readonly [string, Partial<IssueWork>])[] = [
    ['of an earlier epoch', { domain: { ...verified, epoch: 2 } }],
    [
      'of a domain that is live',
      { domain: aDomain({ state: { status: 'live', missedAt: null } }) },
    ],
    ['of a domain that is pending again', { domain: aDomain() }],
  ];
  it.each(late)('%s orders nothing', async (_title, work) => {
    const { service, did } = world({ work });
    expect(await issueCertificate(service, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });
});
