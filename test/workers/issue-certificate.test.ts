import { describe, expect, it } from 'vitest';
import type { BudgetWait } from '../../src/core/certificates/budget.ts';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { aDomain, aRefusal, later, missing, noon, unknown } from '../support/builders.ts';
import { aCertificate, orderWorld, refused, type Situation } from './order-world.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const verified = aDomain({ state: { status: 'verified', verifiedAt: noon } });
const job = { domainId: verified.id, epoch: 1 };

const world = (situation: Situation) => orderWorld(verified, situation);

describe('the certificate of a verified domain', () => {
  it('is ordered and stored', async () => {
    const { deps, did } = world({});
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual(['open order', 'advance the new order', 'store', 'forget the escalation']);
  });

  it('comes from the order that is open, if one is', async () => {
    const { deps, did } = world({ work: { order: aCertificate() } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is the one it had before, while more than a third of its life is left', async () => {
    const usable = aCertificate({ issuedAt: noon, expiresAt: later(noon, 90 * DAY) });
    const { deps, did } = world({ work: { usable } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['reuse', 'forget the escalation']);
  });

  it('is shown again where another edge has its key', async () => {
    const life = { issuedAt: noon, expiresAt: later(noon, 90 * DAY) };
    const usable = aCertificate({ ...life, sealedKey: null });
    const { deps, did } = world({ work: { usable } });
    await issueCertificate(deps, job);
    expect(did).toContain('store');
    expect(did).not.toContain('reuse');
  });

  it('is ordered again where the one before is about to end', async () => {
    const usable = aCertificate({
      issuedAt: later(noon, -60 * DAY),
      expiresAt: later(noon, 30 * DAY),
    });
    const { deps, did } = world({ work: { usable } });
    await issueCertificate(deps, job);
    expect(did).toContain('store');
  });

  const plan: readonly (readonly [number, number])[] = [
    [0, MINUTE],
    [1, 10 * MINUTE],
    [2, 89 * MINUTE],
    [3, DAY],
    [9, DAY],
  ];
  it.each(plan)(
    'after %d earlier refusals is tried again %d ms after the next',
    async (refusals, wait) => {
      const before = aRefusal({ at: later(noon, -DAY) });
      const recentRefusals = Array.from({ length: refusals }, () => before);
      const { deps, planned } = world({ work: { recentRefusals }, result: refused });
      expect(await issueCertificate(deps, job)).toMatchObject({
        kind: 'again',
        at: later(noon, wait),
        note: 'refused: unauthorized',
      });
      expect(planned).toEqual([later(noon, wait)]);
    },
  );

  it('is not ordered before the time that the authority asked us to wait for', async () => {
    const retryAfter = later(noon, 3 * DAY);
    const problem = { type: 'rate_limited', detail: 'too many', retryAfter } as const;
    const { deps } = world({ result: { kind: 'refused', problem } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
  });

  it('leaves the order open where the authority cannot be reached, and takes it up again', async () => {
    const { deps, did } = world({
      result: { kind: 'unavailable', retryAfter: null, detail: 'ca_unreachable: no answer' },
    });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, 15_000) });
    expect(did).toEqual([
      'open order',
      'advance the new order',
      'set back: ca_unreachable: no answer',
      'postpone',
    ]);
  });

  it('waits as long as an authority that is busy asks for', async () => {
    const retryAfter = later(noon, 60 * MINUTE);
    const { deps } = world({
      result: { kind: 'unavailable', retryAfter, detail: 'ca_failed: 503' },
    });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
  });

  const limited: BudgetWait = {
    limit: 'registrable_domain',
    subject: 'shop.test',
    until: later(noon, 202 * MINUTE),
  };
  it.each<readonly [string, Situation]>([
    ['as it was loaded', { work: { budgetWaits: [limited] } }],
    ['as it turned out when the order was to be opened', { limited }],
  ])('is not ordered before a limit of the authority allows it, %s', async (_when, situation) => {
    const { deps, did } = world(situation);
    expect(await issueCertificate(deps, job)).toEqual({
      kind: 'again',
      at: limited.until,
      note: 'the authority allows 50 certificates in 7 days for shop.test and all names below it; the next order is possible at 2026-11-20T15:22:00.000Z',
    });
    expect(did).toEqual(['postpone']);
  });

  it('that is open already goes on, whatever the limits are', async () => {
    const { deps, did } = world({ work: { budgetWaits: [limited], order: aCertificate() } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is not ordered while the authority has asked to wait, even in a new life', async () => {
    const retryAfter = later(noon, 3 * DAY);
    const recentRefusals = [aRefusal({ at: later(noon, -MINUTE), retryAfter })];
    const { deps, did } = world({ work: { recentRefusals } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
    expect(did).toEqual(['postpone']);
  });

  it('but an order that is open already goes on', async () => {
    const recentRefusals = [aRefusal({ retryAfter: later(noon, DAY) })];
    const { deps, did } = world({ work: { recentRefusals, order: aCertificate() } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is not ordered for a domain that was removed meanwhile', async () => {
    const { deps, did } = world({});
    deps.certificates.openOrder = async () => null;
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });

  it('is not ordered where the DNS has changed: the domain waits for its DNS again', async () => {
    const { deps, did, saves } = world({ diagnosis: missing });
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(saves[0]?.outcome).toMatchObject({ kind: 'moved', to: { status: 'pending' } });
    expect(did).toEqual(['follow up epoch 2']);
  });

  it('waits a minute where nobody could tell whether the DNS is right', async () => {
    const { deps, did, saves } = world({ diagnosis: unknown });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, MINUTE) });
    expect(did).toEqual([]);
    expect(saves[0]?.outcome).toMatchObject({
      kind: 'stayed',
      findings: unknown.findings,
      nextCheckAt: later(noon, MINUTE),
    });
  });
});

describe('the challenge, before a new order', () => {
  const good: Probe = { address: '192.0.2.1', outcome: 'reachable' };
  const bad: readonly (readonly [string, Probe])[] = [
    ['[2001:db8::1] refuses', { address: '2001:db8::1', outcome: 'refused' }],
    ['is silent', { address: '192.0.2.2', outcome: 'timeout' }],
    ['is somebody else', { address: '192.0.2.2', outcome: 'other_answer', status: 404 }],
  ];
  it.each(bad)(
    'is asked for at each address: one %s, and nothing is ordered',
    async (_what, one) => {
      const { deps, did, probed } = world({ probes: [good, one] });
      expect(await issueCertificate(deps, job)).toMatchObject({
        at: later(noon, 15_000),
        note: expect.stringMatching(`^no order yet: on port 80, ${one.address} `),
      });
      expect([probed, did]).toEqual([[verified.hostname], ['postpone']]);
    },
  );

  const harmless: readonly (readonly [string, readonly Probe[]])[] = [
    ['all answer', [good]],
    ['there is no way to one from here', [good, { address: '2001:db8::1', outcome: 'no_route' }]],
    ['one is nobody’s', [{ address: '10.0.0.1', outcome: 'reserved' }]],
    ['none is asked', []],
  ];
  it.each(harmless)('keeps no order back where %s', async (_what, probes) => {
    const { deps, did } = world({ probes });
    await issueCertificate(deps, job);
    expect(did[0]).toBe('open order');
  });

  it('is asked for again after a tenth of the time, within five minutes', async () => {
    const probes = [{ address: '192.0.2.2', outcome: 'timeout' }] as const;
    const since = (minutes: number) =>
      aDomain({ state: { status: 'verified', verifiedAt: later(noon, -minutes * MINUTE) } });
    for (const [minutes, wait] of [
      [20, 2],
      [500, 5],
    ] as const) {
      const { deps } = orderWorld(since(minutes), { probes });
      const at = later(noon, wait * MINUTE);
      expect(await issueCertificate(deps, job)).toMatchObject({ at });
    }
  });

  const open: readonly (readonly [string, Partial<Certificate>, readonly unknown[]])[] = [
    [
      'not asked for once it is placed',
      { orderUrl: 'https://ca.test/1' },
      [0, 'advance the open order'],
    ],
    ['asked for while it was never placed', { orderUrl: null }, [1, 'postpone']],
    ['not asked for where another edge has it', { sealedKey: null }, [0, 'advance the open order']],
  ];
  it.each(open)('of an open order is %s', async (_what, order, [asked, first]) => {
    const probes = [{ address: '192.0.2.2', outcome: 'timeout' }] as const;
    const { deps, did, probed } = world({ work: { order: aCertificate(order) }, probes });
    await issueCertificate(deps, job);
    expect([probed.length, did[0]]).toEqual([asked, first]);
  });
});

describe('an order that another run has ended', () => {
  it('is taken up again at once: its certificate may be there for this life, and its case stays', async () => {
    const { deps, did } = world({ lost: true });
    expect(await issueCertificate(deps, job)).toMatchObject({ kind: 'again' });
    expect(did).toEqual(['open order', 'advance the new order', 'store']);
  });

  it.each([
    ['refused', refused],
    ['not finished', { kind: 'unavailable', retryAfter: null, detail: 'busy' }],
  ] as const)(
    'is taken up again at once, which ends the job of a life that is over: %s',
    async (_what, result) => {
      const { deps } = world({ lost: true, result });
      expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, 1_000) });
    },
  );
});

describe('an open order that the authority asked us to leave alone', () => {
  it.each([
    ['is left alone, however the job was woken', later(noon, MINUTE), 'postpone'],
    ['goes on when that time is over', noon, 'advance the open order'],
  ] as const)('%s', async (_what, retryAfter, first) => {
    const at = later(noon, -MINUTE);
    const setback = { at, since: at, answered: false, detail: 'ca_failed: 503', retryAfter };
    const { deps, did } = world({ work: { order: aCertificate(), setback } });
    await issueCertificate(deps, job);
    expect(did[0]).toBe(first);
  });
});

describe('a job that comes too late', () => {
  const late: readonly (readonly [string, Partial<IssueWork>])[] = [
    ['of an earlier life', { domain: { ...verified, epoch: 2 } }],
    [
      'of a domain that is live',
      { domain: aDomain({ state: { status: 'live', missedAt: null } }) },
    ],
    ['of a domain that waits for its DNS again', { domain: aDomain() }],
  ];
  it.each(late)('%s orders nothing', async (_title, work) => {
    const { deps, did } = world({ work });
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });
});
