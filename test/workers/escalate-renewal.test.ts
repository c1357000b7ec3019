import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { DomainState } from '../../src/core/life/lifecycle.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts';
import { type OpenEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { Service } from '../../src/service/service.ts';
import { escalateRenewals } from '../../workers/escalate-renewal.ts';
import { escalationAtEnd } from '../../workers/orders/escalation.ts';
import { aDomain, aRefusal, later, noon, right } from '../support/builders.ts';
import { dueOnce } from './due-once.ts';
import { type EscalationCase, openEscalationWorld } from './escalation-world.ts';
import { aCertificate, nothingYet } from './order-world.ts';

const endsAt = later(noon, 18 * DAY);
const running = new AbortController().signal;

const daysLeft = (days: number) =>
  aCertificate({
    status: 'issued',
    issuedAt: later(noon, (days - 90) * DAY),
    expiresAt: later(noon, days * DAY),
  });
const served = (state: DomainState) => aDomain({ state, certificateEndsAt: endsAt });
const live = served({ status: 'live', missedAt: null });
const drifted = served({ status: 'drifted', driftedAt: later(noon, -DAY) });
const refused = {
  refusals: 4,
  lastProblem: { type: 'rejected_identifier', detail: 'No.' },
  recentRefusals: Array.from({ length: 4 }, () => aRefusal({ at: later(noon, -5 * HOUR) })),
};
const work: IssueWork = {
  ...nothingYet(live),
  usable: daysLeft(18),
  renewAt: later(noon, 19 * HOUR),
};
const silent: Probe = { address: '192.0.2.1', outcome: 'timeout' };
const answering: Probe = { address: '192.0.2.1', outcome: 'reachable' };

type Given = Partial<Omit<EscalationCase, 'work' | 'row'>> & {
  /** Null: removed. */
  readonly work?: Partial<IssueWork> | null;
  /** The domain was renewed during the check. */
  readonly isRenewed?: true;
};

let world: Awaited<ReturnType<typeof openEscalationWorld>>;
beforeAll(async () => {
  world = await openEscalationWorld();
});
afterAll(() => world?.close());

function situationOf({ work: more, isRenewed, ...given }: Given): EscalationCase {
  const all = more === null ? null : { ...work, ...more };
  const { status } = all?.domain.state ?? live.state;
  const certificateEndsAt = isRenewed ? later(endsAt, 60 * DAY) : endsAt;
  return { ...given, work: all, row: { status, certificateEndsAt } };
}

async function run(given: Given, act = (service: Service) => escalateRenewals(service, running)) {
  const due = { 'escalate-renewals': dueOnce(live.id).due };
  const ran = await world.run(situationOf(given), act, { due });
  expect(ran.result).toEqual({ kind: 'done' });
  if (ran.opened.length > 0) expect(ran.row.escalateAt).toEqual(later(noon, 30 * MINUTE));
  const isWoken = ran.row.renewAt?.getTime() === noon.getTime();
  return { ...ran, did: [...ran.did, ...(isWoken ? ['renew at once'] : [])] };
}

/** The escalation that is saved with the expiry. */
async function atEnd(given: Given) {
  const { result, did } = await world.run(situationOf(given), (service) =>
    escalationAtEnd(service, live, right),
  );
  return { escalation: result, did };
}

const aCase = (
  cause: string,
  openedAt: Date,
  evidence: Parameters<typeof readEvidence>[0] = {},
): OpenEscalation => ({
  cause,
  openedAt,
  evidence: { ...readEvidence(evidence), servedUntil: endsAt.toISOString() },
});

describe("with a fifth of the certificate's life left", () => {
  it('a rate limit is named with its end', async () => {
    const until = later(noon, 34 * HOUR);
    const limited = { limit: 'same_names', subject: 'docs.shop.test', until } as const;
    const { opened } = await run({ work: { budgetWaits: [limited] } });
    expect(opened).toMatchObject([
      {
        cause: 'authority_rate_limited',
        summary: expect.stringContaining('5 certificates in 7 days for docs.shop.test'),
        nextAction: expect.stringContaining('placed at 2026-11-21 22:00 UTC'),
        evidence: { budget: { limit: 'same_names', until: until.toISOString() } },
      },
    ]);
  });

  it('a live domain gets an escalation, the operator is notified, and the renewal runs at once', async () => {
    const { did, opened } = await run({ work: refused });
    expect(did).toEqual([
      'probe docs.shop.test',
      'tell docs.shop.test authority_refused',
      'renew at once',
    ]);
    expect(opened).toMatchObject([
      {
        cause: 'authority_refused',
        summary:
          'The certificate expires on 2026-12-08 12:00 UTC and has not been renewed. It is served until then. The certificate authority refused 4 orders (rejected_identifier). It says: “No.”',
        nextAction:
          'A new order is placed at 2026-11-20 12:00 UTC; if it fails, the next one follows at 2026-11-21 12:00 UTC.',
        evidence: { servedUntil: endsAt.toISOString(), refusals: 4 },
      },
    ]);
  });

  it('a drifted domain gets an escalation without an order or a probe', async () => {
    const { did, opened } = await run({ work: { domain: drifted }, seen: 'missing' });
    expect(did).toEqual(['tell docs.shop.test dns_changed']);
    expect(opened).toMatchObject([{ cause: 'dns_changed', evidence: { nextAttempt: null } }]);
  });

  it('the same cause again is only an update, and the renewal keeps its plan', async () => {
    const open = aCase('authority_refused', later(noon, -HOUR));
    const { did, opened } = await run({ work: refused, open });
    expect(did).toEqual(['probe docs.shop.test']);
    expect(opened[0]?.nextAction).toMatch(/^A new order is placed at 2026-11-21 07:00 UTC;/);
  });

  it('another cause needs a second check, even one that would unverify a domain', async () => {
    const open = aCase('authority_refused', later(noon, -HOUR));
    const first = await run({ seen: 'missing', open });
    expect(first.opened).toMatchObject([
      { cause: 'authority_refused', evidence: { candidate: 'dns_changed' } },
    ]);
    const noted = aCase('authority_refused', later(noon, -HOUR), { candidate: 'dns_changed' });
    const second = await run({ seen: 'missing', open: noted });
    expect(second.opened).toMatchObject([{ cause: 'dns_changed', evidence: { candidate: null } }]);
  });

  it('addresses that start to respond trigger an attempt, except before Retry-After', async () => {
    const lastProblem = { type: 'connection', detail: 'Timeout.' };
    const open = aCase('challenge_unreachable', later(noon, -HOUR), { probes: [silent] });
    const given = { work: { ...refused, lastProblem }, open } as const;
    expect((await run({ ...given, probes: [answering] })).did).toContain('renew at once');
    const kept = await run({ ...given, probes: [silent] });
    expect([kept.did, kept.opened.length]).toEqual([['probe docs.shop.test'], 1]);
    const order = aCertificate();
    const postponed = { ...given, work: { ...given.work, order }, probes: [answering] };
    const waiting = await run(postponed);
    expect([waiting.did, waiting.opened.length]).toEqual([['probe docs.shop.test'], 1]);
  });

  it('a quarantined renewal shows until when', async () => {
    const quarantine = { reason: 'Error: no such file', until: later(noon, 2 * DAY) };
    const open = aCase('platform_fault', later(noon, -HOUR));
    const { opened } = await run({ quarantine, open });
    expect(opened[0]?.nextAction).toContain('quarantined until 2026-11-22 12:00 UTC');
  });

  it('a domain that was renewed during the check is skipped', async () => {
    const { did, opened } = await run({ isRenewed: true });
    expect([did, opened]).toEqual([['probe docs.shop.test'], []]);
  });

  it('a domain that was renewed before gets the time of its new certificate', async () => {
    const { did, row } = await run({ work: { usable: daysLeft(89) } });
    expect([did, row.escalateAt]).toEqual([[], later(noon, 71 * DAY)]);
  });

  it.each<readonly [string, Partial<IssueWork>]>([
    ['whose certificate has expired, which its own check reports', { usable: null }],
    [
      'that is verified by now',
      { domain: aDomain({ state: { status: 'verified', verifiedAt: noon } }) },
    ],
  ])('a domain %s is skipped', async (_what, parts) => {
    expect((await run({ work: parts })).did).toEqual([]);
  });
});

describe('when the certificate of a live domain expires', () => {
  const ended: Given = { work: { ...refused, usable: null } };

  it('the open escalation stays and no longer mentions service', async () => {
    const open = aCase('authority_refused', later(noon, -HOUR));
    const { escalation, did } = await atEnd({ ...ended, open });
    expect(escalation).toMatchObject({
      cause: 'authority_refused',
      summary: expect.stringMatching(/^The certificate authority refused 4 orders/),
      nextAction: expect.stringMatching(/^A new order is placed at 2026-11-20 12:00 UTC;/),
      evidence: { servedUntil: null },
    });
    expect(did).toEqual([]);
  });

  it('a missing escalation is opened and the operator notified', async () => {
    const { escalation, did } = await atEnd(ended);
    expect(escalation).toMatchObject({ cause: 'authority_refused' });
    expect(did).toEqual(['tell docs.shop.test authority_refused']);
  });

  it('a domain that was removed needs none', async () => {
    expect((await atEnd({ work: null })).escalation).toBeUndefined();
  });
});

it('yields to the renewals after a time limit', async () => {
  let limits: unknown;
  const { did } = await run({}, async (service) => {
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    const result = await escalateRenewals(service, running);
    limits = timeout.mock.calls;
    timeout.mockRestore();
    return result;
  });
  expect([did, limits]).toEqual([[], [[120_000]]]);
});
