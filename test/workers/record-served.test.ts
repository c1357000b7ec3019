/** Workers check the served certificate once it is stored, and not before. */

import { expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { renewCertificate } from '../../workers/renew-certificate.ts';
import { aDomain, later, noon } from '../support/builders.ts';
import { throwingLog as log } from '../support/plain-service.ts';
import { dueOnce } from './due-once.ts';
import { aCertificate, orderWorld, refused, type Situation } from './order-world.ts';

const verified = aDomain({ state: { status: 'verified', verifiedAt: noon } });
const live = aDomain({ state: { status: 'live', missedAt: null } });
const anIssued = (daysOld: number) =>
  aCertificate({
    status: 'issued',
    issuedAt: later(noon, -daysOld * DAY),
    expiresAt: later(noon, (90 - daysOld) * DAY),
  });

async function issue(situation: Situation) {
  const { service, shownAfter } = orderWorld(verified, situation);
  await issueCertificate(service, { domainId: verified.id, epoch: 1 });
  return shownAfter;
}

async function renew(situation: Situation) {
  const due = { 'renew-certificate': dueOnce(live.id).due };
  const made = orderWorld(live, { work: { usable: anIssued(61) }, ...situation }, { due, log });
  await renewCertificate(made.service, new AbortController().signal);
  return made.shownAfter;
}

it('the served certificate is checked after a certificate is stored', async () => {
  expect(await issue({})).toEqual([
    'open order, advance the new order, store, forget the escalation',
  ]);
  expect(await renew({})).toEqual(['open order, advance the new order, store']);
});

it('the served certificate is checked after an old one is served again', async () => {
  expect(await issue({ work: { usable: anIssued(1) } })).toEqual(['reuse, forget the escalation']);
});

it.each([
  ['was refused', { result: refused }],
  ['has not been issued', { result: { kind: 'unavailable', retryAfter: null, detail: 'away' } }],
  ['was stored by another run', { lost: true }],
] as const)('the served certificate is not checked when it %s', async (_what, situation) => {
  expect(await issue(situation)).toEqual([]);
  expect(await renew(situation)).toEqual([]);
});
