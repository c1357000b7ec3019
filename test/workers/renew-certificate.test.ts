import { describe, expect, it } from 'vitest';
import type { Certificate } from '../../src/core/records.ts';
import { DAY, MINUTE } from '../../src/core/time.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { renewCertificate } from '../../workers/renew-certificate.ts';
import { aDomain, aRefusal, later, noon } from '../support/builders.ts';
import { type ServiceMembers, throwingLog } from '../support/plain-service.ts';
import { dueOnce } from './due-once.ts';
import {
  aCertificate,
  issued as issuedResult,
  orderWorld,
  refused,
  type Situation,
} from './order-world.ts';

const live = aDomain({ state: { status: 'live', missedAt: null } });
const running = new AbortController().signal;

const away: Unavailable = { kind: 'unavailable', retryAfter: null, detail: 'ca_unreachable: gone' };

function anIssued(daysOld: number): Certificate {
  return aCertificate({
    status: 'issued',
    chain: 'PEM',
    issuer: 'Test CA',
    issuedAt: later(noon, -daysOld * DAY),
    expiresAt: later(noon, (90 - daysOld) * DAY),
    createdAt: later(noon, -daysOld * DAY),
  });
}

function world({ work, ...situation }: Situation, more: ServiceMembers = {}) {
  const given = { ...situation, work: { usable: anIssued(60), ...work } };
  const due = { 'renew-certificate': dueOnce(live.id).due };
  const made = orderWorld(live, given, { due, log: throwingLog, ...more });
  return { ...made, postponed: made.planned };
}

async function renewed(situation: Situation) {
  const made = world(situation);
  expect(await renewCertificate(made.service, running)).toEqual({ kind: 'done' });
  return made;
}

describe('a renewal that is due', () => {
  it('is ordered with a new key and stored', async () => {
    const { did } = await renewed({});
    expect(did).toEqual(['open order', 'advance the new order', 'store']);
  });

  it('continues the open order', async () => {
    const { did } = await renewed({ work: { order: aCertificate() } });
    expect(did).toEqual(['advance the open order', 'store']);
  });

  const plan: readonly (readonly [number, number])[] = [
    [0, MINUTE],
    [1, 10 * MINUTE],
    [2, 89 * MINUTE],
    [3, DAY],
  ];
  it.each(plan)('after %d refusals waits %d ms more for the next', async (refusals, wait) => {
    const before = aRefusal({ at: later(noon, -DAY) });
    const recentRefusals = Array.from({ length: refusals }, () => before);
    const { did, postponed } = await renewed({ work: { recentRefusals }, result: refused });
    expect(did).toEqual(['open order', 'advance the new order', 'refuse']);
    expect(postponed).toEqual([later(noon, wait)]);
  });

  it('keeps its order while the CA is down, with the reason', async () => {
    const order = aCertificate({ createdAt: later(noon, -20 * MINUTE) });
    const { did, postponed } = await renewed({ work: { order }, result: away });
    expect(did).toEqual(['advance the open order', 'set back: ca_unreachable: gone', 'postpone']);
    expect(postponed).toEqual([later(noon, 2 * MINUTE)]);
  });

  it('is read again an hour later while another edge still serves the old one', async () => {
    const order = aCertificate({ sealedKey: null });
    const usable = { ...anIssued(60), sealedKey: null };
    const shown = { ...issuedResult, notAfter: later(noon, 30 * DAY) };
    const { did, postponed } = await renewed({ work: { order, usable }, result: shown });
    const still = `the certificate that expires at ${later(noon, 30 * DAY).toISOString()} is still served`;
    expect(did).toEqual(['advance the open order', `set back: ${still}`, 'postpone']);
    expect(postponed).toEqual([later(noon, 60 * MINUTE)]);
  });

  it('is done once another edge serves one that expires later', async () => {
    const order = aCertificate({ sealedKey: null });
    const usable = { ...anIssued(60), sealedKey: null };
    const { did } = await renewed({ work: { order, usable } });
    expect(did).toEqual(['advance the open order', 'store']);
  });

  it("waits for the CA's Retry-After", async () => {
    const recentRefusals = [aRefusal({ at: later(noon, -MINUTE), retryAfter: later(noon, DAY) })];
    const { did, postponed } = await renewed({ work: { recentRefusals } });
    expect([did, postponed]).toEqual([['postpone'], [later(noon, DAY)]]);
  });

  it('is not ordered while an address would not serve the challenge', async () => {
    const probes = [{ address: '2001:db8::1', outcome: 'refused' }] as const;
    const { did, postponed, probed } = await renewed({ probes });
    expect([did, probed]).toEqual([['postpone'], [live.hostname]]);
    expect(postponed).toEqual([later(noon, 5 * MINUTE)]);
  });

  it('waits for a rate limit', async () => {
    const until = later(noon, 34 * 60 * MINUTE);
    const wait = { limit: 'same_names', subject: live.hostname, until } as const;
    const { did, postponed } = await renewed({ work: { budgetWaits: [wait] } });
    expect([did, postponed]).toEqual([['postpone'], [until]]);
  });

  it('is not ordered when CAA forbids it: the customer gets a finding, and the domain stays live', async () => {
    const code = 'caa_blocks';
    const { did, saves, postponed } = await renewed({ seen: 'forbidden' });
    expect(saves[0]?.change).toMatchObject({
      kind: 'stayed',
      to: { status: 'live', missedAt: null },
      findings: [{ code }],
      events: [{ type: 'domain.findings_changed', appeared: [{ code }] }],
    });
    expect([did, postponed]).toEqual([['postpone'], [later(noon, 60 * MINUTE)]]);
  });

  it('counts a wrong check as a first miss', async () => {
    const { did, saves } = await renewed({ seen: 'missing' });
    expect(saves[0]?.change.to).toEqual({ status: 'live', missedAt: noon });
    expect(did).toEqual(['postpone']);
  });

  it('waits when the DNS is unknown', async () => {
    const { did, saves } = await renewed({ seen: 'unknown' });
    expect(saves[0]?.change.to).toEqual({ status: 'live', missedAt: null });
    expect(did).toEqual(['postpone']);
  });
});

describe('a backlog of renewals', () => {
  it('continues at once after other jobs', async () => {
    const take = async () => {
      await new Promise((resolve) => setImmediate(resolve)); // as in the database
      return [{ id: live.id, takes: 1 }];
    };
    const due = { 'renew-certificate': { ...dueOnce(live.id).due, take } };
    const { service } = world({}, { due });
    const result = await renewCertificate(service, running, 1);
    expect(result).toMatchObject({ kind: 'again', at: noon });
  });
});

describe('a renewal that is not due', () => {
  it('includes a certificate renewed by another run, whose own time stays', async () => {
    const { did, postponed } = await renewed({ work: { usable: anIssued(0) } });
    expect(did).toEqual(['postpone']);
    expect(Number(postponed[0])).toBeGreaterThan(Number(later(noon, 55 * DAY)));
  });

  it.each([
    ['a drifted domain', { status: 'drifted', driftedAt: noon }],
    ['a pending domain', { status: 'pending', pendingSince: noon }],
  ] as const)('includes %s', async (_title, state) => {
    const { did } = await renewed({ work: { domain: aDomain({ state }) } });
    expect(did).toEqual([]);
  });
});
