import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import { MINUTE } from '../../src/core/time.ts';
import { type OpenEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import { escalateCertificate } from '../../workers/escalate-certificate.ts';
import { aDomain, aRefusal, later, missing, noon } from '../support/builders.ts';
import { type EscalationCase, openEscalationWorld } from './escalation-world.ts';
import { nothingYet } from './order-world.ts';

const verified = aDomain({ state: { status: 'verified', verifiedAt: later(noon, -30 * MINUTE) } });
const job = { domainId: verified.id, epoch: 1 };
const again = { kind: 'again', at: later(noon, 30 * MINUTE) };

const work = nothingYet(verified);
const refused = {
  refusals: 1,
  lastProblem: { type: 'malformed', detail: 'No.' },
  recentRefusals: [aRefusal()],
};
const silent: Probe = { address: '192.0.2.1', outcome: 'timeout' };
const answering: Probe = { address: '192.0.2.1', outcome: 'reachable' };

type Given = Partial<Omit<EscalationCase, 'work' | 'row'>> & {
  readonly work?: Partial<IssueWork>;
  /** The domain got its certificate during the check. */
  readonly isLive?: true;
};

let world: Awaited<ReturnType<typeof openEscalationWorld>>;
beforeAll(async () => {
  world = await openEscalationWorld();
});
afterAll(() => world?.close());

async function run({ work: more, isLive, ...given }: Given) {
  const row = { status: isLive ? 'live' : 'verified' } as const;
  const situation = { ...given, work: { ...work, ...more }, row };
  const ran = await world.run(situation, (service) => escalateCertificate(service, job));
  if (ran.opened.length > 0) expect(ran.row.escalateAt).toEqual(again.at);
  return { ...ran, done: ran.did };
}

const anOpenCase = (cause: string, parts: Partial<OpenEscalation> = {}): OpenEscalation => ({
  cause,
  openedAt: later(noon, -30 * MINUTE),
  evidence: readEvidence({}),
  ...parts,
});

describe('30 minutes after verification without a certificate', () => {
  it('an escalation is opened, the operator is notified, and a new attempt runs at once', async () => {
    const { result, done, opened } = await run({ work: refused });
    expect(opened).toMatchObject([
      {
        cause: 'authority_refused',
        summary: 'The certificate authority refused the order (malformed). It says: “No.”',
        nextAction:
          'A new order is placed at 2026-11-20 12:00 UTC; if it fails, the next one follows at 2026-11-20 12:10 UTC.',
        evidence: { problem: { type: 'malformed' }, refusals: 1 },
      },
    ]);
    expect(done).toEqual([
      'probe docs.shop.test',
      'tell docs.shop.test authority_refused',
      'attempt',
    ]);
    expect(result).toMatchObject(again);
  });

  it('a rate limit is named with its end, unless the open order has its tokens', async () => {
    const until = later(noon, 202 * MINUTE);
    const limited = { limit: 'registrable_domain', subject: 'shop.test', until } as const;
    const { opened } = await run({ work: { budgetWaits: [limited] } });
    expect(opened).toMatchObject([
      {
        cause: 'authority_rate_limited',
        summary: expect.stringContaining('for shop.test and all names below it'),
        nextAction: expect.stringContaining('placed at 2026-11-20 15:22 UTC'),
        evidence: { budget: { ...limited, until: until.toISOString() } },
      },
    ]);
    const order = { id: 'c', orderUrl: null } as IssueWork['order']; // only the cause matters here
    const other = await run({ work: { budgetWaits: [limited], order } });
    expect(other.opened).toMatchObject([{ cause: 'platform_fault', evidence: { budget: null } }]);
  });

  it("the CA's failure and its start are in the escalation", async () => {
    const setback = {
      at: later(noon, -MINUTE),
      since: later(noon, -MINUTE),
      answered: false,
      detail: 'no answer (ECONNREFUSED)',
      retryAfter: null,
    };
    const { opened } = await run({ work: { setback } });
    expect(opened).toMatchObject([
      {
        cause: 'authority_unreachable',
        evidence: { setback: { at: '2026-11-20T11:59:00.000Z', detail: setback.detail } },
      },
    ]);
  });

  it('the same cause again is only an update, and the order keeps its plan', async () => {
    const { result, done, opened } = await run({
      work: { ...refused, domain: { ...verified, nextCheckAt: later(noon, 70 * MINUTE) } },
      open: anOpenCase('authority_refused'),
    });
    expect(done).toEqual(['probe docs.shop.test']);
    expect(opened[0]?.nextAction).toContain('placed at 2026-11-20 13:10 UTC');
    expect(result).toMatchObject(again);
  });

  it('an attempt missed by a killed worker is made up', async () => {
    const open = anOpenCase('authority_refused', { openedAt: later(noon, -20_000) });
    const { done } = await run({ work: refused, open });
    expect(done).toEqual(['probe docs.shop.test', 'attempt']);
  });

  it('another cause is only noted by the first check that finds it', async () => {
    const open = anOpenCase('authority_unreachable');
    const { done, opened } = await run({ work: refused, open });
    expect(done).toEqual(['probe docs.shop.test']);
    expect(opened).toMatchObject([
      { cause: 'authority_unreachable', evidence: { candidate: 'authority_refused' } },
    ]);
  });

  it('another cause at two checks in a row is reported and triggers an attempt', async () => {
    const { evidence } = anOpenCase('');
    const noted = { evidence: { ...evidence, candidate: 'authority_refused' } } as const;
    const open = anOpenCase('authority_unreachable', noted);
    const { done, opened } = await run({ work: refused, open });
    expect(done.slice(1)).toEqual(['tell docs.shop.test authority_refused', 'attempt']);
    expect(opened).toMatchObject([{ cause: 'authority_refused', evidence: { candidate: null } }]);
  });

  it('a quarantined job gets one more attempt, which the escalation mentions', async () => {
    const quarantine = { reason: 'Error: no such file', until: later(noon, 60 * MINUTE) };
    const { done, opened } = await run({ quarantine });
    expect(done).toContain('attempt');
    expect(opened).toMatchObject([
      {
        cause: 'platform_fault',
        nextAction: expect.stringContaining('It runs once more at 2026-11-20 12:00 UTC'),
        evidence: {
          quarantine: { reason: quarantine.reason, until: quarantine.until.toISOString() },
        },
      },
    ]);
    const kept = await run({ quarantine, open: anOpenCase('platform_fault') });
    expect(kept.done).not.toContain('attempt');
    expect(kept.opened[0]?.nextAction).toContain('quarantined until 2026-11-20 13:00 UTC');
  });

  it('addresses that start to respond trigger an attempt', async () => {
    const lastProblem = { type: 'connection', detail: 'Timeout.' };
    const { evidence } = anOpenCase('');
    const given = {
      work: { ...refused, lastProblem },
      open: anOpenCase('challenge_unreachable', { evidence: { ...evidence, probes: [silent] } }),
    } as const;
    expect((await run({ ...given, probes: [silent] })).done).not.toContain('attempt');
    expect((await run({ ...given, probes: [answering] })).done).toContain('attempt');
  });

  it('an order that the CA postponed is not hurried', async () => {
    const order = { id: 'c', orderUrl: 'https://ca.test/1' } as IssueWork['order']; // only the action matters here
    const domain = { ...verified, nextCheckAt: later(noon, 60 * MINUTE) };
    const { done, opened } = await run({ work: { order, domain } });
    expect(done).not.toContain('attempt');
    expect(opened[0]?.nextAction).toContain('open order resumes at 2026-11-20 13:00 UTC');
  });

  it('a changed DNS takes it back to pending, together with the escalation', async () => {
    const { result, done, saves } = await run({ seen: 'missing' });
    expect(saves[0]?.change.to.status).toBe('pending');
    expect(saves[0]?.escalation).toMatchObject({
      cause: 'dns_changed',
      evidence: { findings: missing.findings, nextAttempt: null },
    });
    expect(done).toEqual([
      'save',
      'tell docs.shop.test dns_changed',
      `check-dns ${job.domainId}.2`,
    ]);
    expect(result).toEqual({ kind: 'done' });
  });

  it('a stale check notifies no one and is repeated', async () => {
    const { result, done } = await run({ seen: 'missing', saves: { kind: 'stale' } });
    expect(done).toEqual(['save']);
    expect(result).toMatchObject({ kind: 'again' });
  });

  it('a domain that got its certificate is skipped', async () => {
    const { result, done } = await run({ isLive: true });
    expect(done).toEqual(['probe docs.shop.test']);
    expect(result).toEqual({ kind: 'done' });
  });

  it.each([
    ['that is live by now', { state: { status: 'live', missedAt: null }, epoch: 1 }],
    ['that is in another epoch by now', { state: verified.state, epoch: 2 }],
  ] as const)('a domain %s is skipped', async (_what, parts) => {
    const { result, done, opened } = await run({ work: { domain: { ...verified, ...parts } } });
    expect([done, opened, result]).toEqual([[], [], { kind: 'done' }]);
  });
});
