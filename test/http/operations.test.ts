/** On a real service without workers. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OnWire } from '../../src/dashboard/client.ts';
import { sweepNames, sweeps } from '../../src/db/domains/sweeps.ts';
import type { overviewView } from '../../src/http/routes/operations-view.ts';
import { operatorsInTrouble } from '../../src/http/routes/operations-view.ts';
import { API_KEY, type RunningDashboard, startDashboard } from '../dashboard/support/dashboard.ts';
import { everyLife } from '../dashboard/support/lives.ts';

type Overview = OnWire<ReturnType<typeof overviewView>>;
type Work = {
  readonly isSweep: boolean;
  readonly queue: string;
  readonly dueAt: string | null;
  readonly job: Readonly<Record<string, unknown>> | null;
  readonly quarantined: { readonly reason: string } | null;
};
type Watched = {
  readonly id: string;
  readonly removedAt: string | null;
  readonly domain: { readonly status: string };
  readonly escalation: { readonly id: string } | null;
  readonly queueAnswers: boolean;
  readonly work: readonly Work[];
  readonly timeline: readonly { readonly type: string }[];
};

let service: RunningDashboard;
let ids: Readonly<Record<string, string>>;
let projectId: string;
const zone = `${randomUUID().slice(0, 8)}.example`;

beforeAll(async () => {
  service = await startDashboard();
  ({ ids, projectId } = await everyLife(service, zone));
}, 180_000);
afterAll(() => service?.close());

const idOf = (label: string) => ids[label] ?? '';
const prisma = () => service.signpost.service.database.prisma;
const watched = (label: string) =>
  service.api<Watched>('GET', `/v1/operations/domains/${idOf(label)}`);
const workOf = async (label: string, queue: string) =>
  (await watched(label)).work.find((one) => one.queue === queue);

async function asked(method: string, path: string, key = API_KEY, body?: object) {
  const response = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function keyWith(...scopes: readonly string[]): Promise<string> {
  const made = await service.api<{ key: string }>('POST', '/v1/keys', { name: 'test', scopes });
  return made.key;
}

describe('GET /v1/operations/overview', () => {
  it('counts domains, lists what waits and names the most urgent problem first', async () => {
    const overview = await service.api<Overview>('GET', '/v1/operations/overview');
    expect(overview.domains).toEqual({ pending: 3, verified: 1, live: 1, drifted: 1, failed: 0 });
    // Neither runs beside this API.
    expect(overview.attention).toEqual([
      expect.objectContaining({ code: 'no_worker', urgency: 'act' }),
      expect.objectContaining({ code: 'role_missing', urgency: 'act' }),
    ]);
    expect(overview.waiting.map(({ hostname }) => hostname)).toContain(`new.${zone}`);
    expect(overview.findings).toContainEqual(
      expect.objectContaining({ code: 'record_missing', actor: 'customer', domains: 1 }),
    );
    expect(overview.certificates.byDaysLeft).toContainEqual({ within: 'more', domains: 2 });
    expect(overview.certificates.soonest).toHaveLength(2);
    const reported = overview.activity.hours.flatMap(({ counts }) => counts);
    const added = reported.filter(({ type }) => type === 'domain.added');
    expect(added.reduce((sum, { count }) => sum + count, 0)).toBe(6);
    expect(overview.queues?.map(({ queue }) => queue)).toContain('check-dns');
    expect(overview.authorityBudget).toEqual([]);
  });

  it('requires the scope of operators', async () => {
    const customers = await keyWith('domains:read');
    expect((await asked('GET', '/v1/operations/overview', customers)).status).toBe(403);
    const operators = await keyWith('ops:read');
    expect((await asked('GET', '/v1/operations/overview', operators)).status).toBe(200);
  });
});

describe('GET /v1/operations/domains', () => {
  const search = (text: string, more = '') =>
    asked('GET', `/v1/operations/domains?hostname=${encodeURIComponent(text)}${more}`);

  it('finds names by substring, exact matches first', async () => {
    const found = (await search(zone)).body as readonly { hostname: string }[];
    expect(found.map(({ hostname }) => hostname)).toEqual(
      ['blog', 'docs', 'new', 'old', 'split', 'www'].map((label) => `${label}.${zone}`),
    );
    const [exact] = (await search(`WWW.${zone}`)).body;
    expect(exact).toMatchObject({
      id: idOf('www'),
      status: 'live',
      removedAt: null,
      project: { id: projectId, name: 'The shop' },
    });
    expect((await search(zone, '&limit=2')).body).toHaveLength(2);
  });

  it.each(['%', '_', "'; DROP TABLE domain; --", 'no-such-name'])(
    'treats %s as text',
    async (text) => {
      expect(await search(text)).toEqual({ status: 200, body: [] });
    },
  );

  it('lists removed domains after attached ones', async () => {
    const hostname = `gone.${zone}`;
    const path = `/v1/projects/${projectId}/domains`;
    await service.api('POST', path, { hostname });
    await service.api('DELETE', `${path}/${hostname}`);
    const found = (await search(zone)).body as readonly { removedAt: string | null; id: string }[];
    expect(found.at(-1)?.removedAt).toEqual(expect.any(String));
    const gone = await service.api<Watched>('GET', `/v1/operations/domains/${found.at(-1)?.id}`);
    expect(gone.timeline.map(({ type }) => type)).toContain('domain.removed');
    expect(gone.work.every(({ dueAt }) => dueAt === null)).toBe(true);
  });
});

describe('GET /v1/operations/domains/{domainId}', () => {
  it('returns a domain with its jobs and history', async () => {
    const shown = await watched('new');
    expect(shown).toMatchObject({ id: idOf('new'), queueAnswers: true, removedAt: null });
    expect(shown.timeline.map(({ type }) => type)).toEqual(['domain.added']);
    expect(shown.work.find(({ queue }) => queue === 'check-dns')).toMatchObject({
      dueAt: expect.any(String),
      job: { state: 'waiting', attempts: 0, failedReason: null, log: [] },
      quarantined: null,
    });
    expect(shown.work.find(({ queue }) => queue === 'recheck-live')?.dueAt).toBeNull();
    expect((await workOf('www', 'recheck-live'))?.dueAt).toEqual(expect.any(String));
  });

  it.each(['nobody', randomUUID()])('answers 404 to %s', async (id) => {
    const { status, body } = await asked('GET', `/v1/operations/domains/${id}`);
    expect([status, body.code]).toEqual([404, 'domain_not_found']);
  });
});

describe('POST /v1/operations/domains/{domainId}/run', () => {
  const run = (label: string, queue: string, key?: string) =>
    asked('POST', `/v1/operations/domains/${idOf(label)}/run`, key, { queue });

  it('wakes a delayed job', async () => {
    const { queues } = service.signpost.service;
    const job = { domainId: idOf('docs'), epoch: 1 };
    await queues.remove('check-dns', job);
    const runAt = new Date(Date.now() + 3_600_000);
    await queues.enqueue('check-dns', [{ job, runAt }]);
    const asleep = (await workOf('docs', 'check-dns'))?.job;
    expect(asleep).toMatchObject({ state: 'delayed', runAt: expect.any(String) });
    const { status, body } = await run('docs', 'check-dns');
    expect([status, body.hostname]).toEqual([202, `docs.${zone}`]);
    expect((await workOf('docs', 'check-dns'))?.job).toMatchObject({ state: 'waiting' });
  });

  it('retries a quarantined job early', async () => {
    const since = new Date();
    const quarantined = { jobId: `${idOf('split')}.1`, domainId: idOf('split'), since };
    await prisma().quarantine.create({
      data: {
        ...quarantined,
        queue: 'check-dns',
        reason: 'Error: broken',
        until: new Date(since.getTime() + 3_600_000),
      },
    });
    expect((await workOf('split', 'check-dns'))?.quarantined).toMatchObject({
      reason: 'Error: broken',
    });
    expect((await run('split', 'check-dns')).status).toBe(202);
    expect((await workOf('split', 'check-dns'))?.quarantined).toBeNull();
    const overview = await service.api<Overview>('GET', '/v1/operations/overview');
    expect(overview.quarantined.total).toBe(0);
  });

  it.each(sweepNames)('makes the next sweep %s take the domain', async (sweep) => {
    await prisma().domain.update({
      where: { id: idOf('www') },
      data: { [sweeps[sweep].field]: new Date(Date.now() + 3_600_000) },
    });
    expect((await run('www', sweep)).status).toBe(202);
    const work = await workOf('www', sweep);
    expect(work?.isSweep).toBe(true);
    expect(Date.parse(work?.dueAt ?? '')).toBeLessThanOrEqual(Date.now());
  });

  it('is rejected when the domain waits for nothing, and for a read-only key', async () => {
    expect((await run('www', 'check-dns')).body).toMatchObject({ code: 'nothing_waits' });
    expect((await run('new', 'no-such-queue')).status).toBe(400);
    const operators = await keyWith('ops:read', 'domains:write');
    expect((await run('new', 'check-dns', operators)).status).toBe(403);
  });
});

it('verifies a domain of any project', async () => {
  const path = `/v1/operations/domains/${idOf('blog')}/verify`;
  const { status, body } = await asked('POST', path);
  expect([status, body.status]).toEqual([202, 'verified']);
  expect((await watched('blog')).timeline[0]?.type).toBe('domain.reverify_requested');
});

describe('POST /v1/escalations/{escalationId}/close', () => {
  it('closes an escalation once and emits an event', async () => {
    const id = randomUUID();
    await prisma().escalation.create({
      data: {
        id,
        domainId: idOf('blog'),
        cause: 'platform_fault',
        evidence: {},
        nextAction: '',
        openedAt: new Date(),
      },
    });
    expect((await watched('blog')).escalation).toMatchObject({ id });
    const closed = await asked('POST', `/v1/escalations/${id}/close`);
    expect(closed).toMatchObject({ status: 200, body: { closedAt: expect.any(String) } });
    expect(await asked('POST', `/v1/escalations/${id}/close`)).toEqual(closed);
    const { escalation, timeline } = await watched('blog');
    expect(escalation).toBeNull();
    const reported = timeline.filter(({ type }) => type === 'escalation.closed');
    expect(reported).toMatchObject([{ data: { reason: 'closed_by_operator' } }]);
  });

  it('answers 404 for an unknown escalation', async () => {
    const { body } = await asked('POST', `/v1/escalations/${randomUUID()}/close`);
    expect(body.code).toBe('escalation_not_found');
  });
});

it('GET of the current key shows what the key may do', async () => {
  const { status, body } = await asked('GET', '/v1/keys/self', await keyWith('ops:read'));
  expect([status, body.scopes, body.status]).toEqual([200, ['ops:read'], 'active']);
});

describe('DNS operators in the overview', () => {
  it('are counted by the registrable domain of their servers, once per domain', () => {
    const dnsUnknown = [
      { hostname: 'b.example', servers: ['a.ns.one.example', 'b.ns.one.example'] },
      { hostname: 'a.example', servers: ['c.ns.one.example', 'x.two.example'] },
    ];
    expect(operatorsInTrouble(dnsUnknown)).toEqual([
      { operator: 'one.example', domains: 2, hostnames: ['a.example', 'b.example'] },
      { operator: 'two.example', domains: 1, hostnames: ['a.example'] },
    ]);
  });

  it('are listed as the local resolvers when the name servers are unknown', () => {
    const dnsUnknown = [
      { hostname: 'd.example', servers: [] },
      { hostname: 'c.example', servers: [] },
    ];
    expect(operatorsInTrouble(dnsUnknown)).toEqual([
      { operator: 'our resolvers', domains: 2, hostnames: ['c.example', 'd.example'] },
    ]);
  });
});
