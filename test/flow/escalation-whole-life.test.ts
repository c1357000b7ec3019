import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { escalationRoutes } from '../../src/http/routes/escalations.ts';
import { createOverview } from '../../src/service/overview.ts';
import type { Service } from '../../src/service/service.ts';
import { publishingRoutes } from '../http/publishing-routes.ts';
import { callApi, startTestApi, type TestApi } from '../http/support.ts';
import { later, noon } from '../support/builders.ts';
import { serviceOn } from '../support/database-service.ts';
import {
  certificateOf,
  DAY,
  type FakeTime,
  HOUR,
  MINUTE,
  startLife,
} from '../support/fake-time.ts';
import { isAway, refuses } from '../support/live-domain.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

let stored: StoredDomains;
let api: TestApi;
let service: Service;
let key: string;

/** The API on the same database; its keys are in another one. */
beforeAll(async () => {
  stored = await openStoredDomains();
  const never = () => Promise.reject(new Error('unexpected change of jobs'));
  api = await startTestApi(({ now }) => {
    service = serviceOn(stored.database, { now });
    Object.assign(service.queues, { enqueue: never, ensure: never, promote: never, remove: never });
    return [...escalationRoutes(service, createOverview(service)), ...publishingRoutes(service)];
  });
  key = await api.keyWith('ops:read', 'domains:read');
});
afterAll(async () => {
  await api?.close();
  await service?.close();
  await stored?.close();
});

async function get(path: string): Promise<unknown> {
  const { status, body } = await callApi(api.api, `GET ${path}`, { key });
  expect(status).toBe(200);
  return body;
}

/** What the operator, the customer and the timeline show. */
async function shown(life: FakeTime) {
  const { projectId, hostname } = await life.row();
  const domain = `/v1/projects/${projectId}/domains/${hostname}`;
  const cases = (await get('/v1/escalations')) as Record<string, unknown>[];
  const events = (await get(`${domain}/timeline`)) as { type: string; data: unknown }[];
  return {
    cases: cases.filter((one) => one['hostname'] === hostname),
    customer: ((await get(domain)) as Record<string, unknown>)['escalation'],
    recorded: events.filter(({ type }) => type.startsWith('escalation.')).reverse(),
  };
}

const authorities = [
  {
    what: 'refuses',
    answers: refuses,
    cause: 'authority_refused',
    summary:
      'The certificate authority refused 3 orders (rejected_identifier). It says: “not this name”',
    nextAction:
      'A new order is placed at 2026-11-20 12:30 UTC; if it fails, the next one follows at 2026-11-21 12:30 UTC.',
    evidence: {
      refusals: 3n,
      problem: { type: 'rejected_identifier', detail: 'not this name', retryAfter: null },
      nextAttempt: { order: 'new', at: later(noon, 30 * MINUTE).toISOString() },
    },
  },
  {
    what: 'is down',
    answers: isAway,
    cause: 'authority_unreachable',
    summary: expect.stringMatching(/^At 2026-11-20 12:2\d UTC .*: ca_unreachable: no answer\.$/),
    forCustomer: expect.stringMatching(/^At 2026-11-20 12:2\d UTC .* had not finished\.$/),
    nextAction: 'The open order resumes at 2026-11-20 12:30 UTC, then every few minutes.',
    evidence: {
      refusals: 0n,
      setback: { detail: 'ca_unreachable: no answer' },
      nextAttempt: { order: 'open', at: later(noon, 30 * MINUTE).toISOString() },
    },
  },
] as const;

describe.each(authorities)('a verified domain whose CA $what', (authority) => {
  const { answers, cause, summary, nextAction, evidence } = authority;
  const forCustomer = 'forCustomer' in authority ? authority.forCustomer : summary;

  it('has one escalation from 30 minutes until its certificate comes, with error codes for operators only', async () => {
    const life = await startLife(stored);
    life.dns('right');
    life.authority(answers);
    await life.pass(29 * MINUTE);
    expect(await life.row()).toMatchObject({ status: 'verified', verifiedAt: noon });
    expect(await shown(life)).toEqual({ cases: [], customer: null, recorded: [] });
    await life.pass(MINUTE - 1);
    expect((await shown(life)).cases).toEqual([]);

    await life.pass(1);
    const openedAt = later(noon, 30 * MINUTE).toISOString();
    const words = { cause, summary, nextAction };
    const opened = await shown(life);
    expect(opened.cases).toMatchObject([{ ...words, evidence, openedAt, closedAt: null }]);
    const toCustomer = { ...words, summary: forCustomer };
    expect(opened.customer).toEqual({ openedAt, ...toCustomer });
    expect(opened.recorded).toMatchObject([
      { type: 'escalation.opened', data: toCustomer, at: openedAt },
    ]);

    expect(await life.escalateAgain()).toMatchObject({ note: `kept: ${cause}` });
    await life.pass(HOUR);
    const kept = await shown(life);
    expect(kept.cases).toMatchObject([{ cause, openedAt, closedAt: null }]);
    expect(kept.recorded).toHaveLength(1);

    life.authority(certificateOf(90));
    await life.pass(2 * DAY, HOUR);
    const closed = await shown(life);
    const [{ closedAt } = {}] = closed.cases;
    expect(closed.cases).toMatchObject([{ cause, openedAt, nextAction: null }]);
    expect(closed.customer).toBeNull();
    const end = { cause, reason: 'certificate_issued' };
    expect(closed.recorded[1]).toMatchObject({
      type: 'escalation.closed',
      data: end,
      at: closedAt,
    });
    expect((await life.story()).slice(-3).map(({ type }) => type)).toEqual([
      'certificate.issued',
      'domain.live',
      'escalation.closed',
    ]);
  });
});
