import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { HOUR } from '../../src/core/time.ts';
import { anObservation } from '../support/builders.ts';
import { type RecordedJobs, recordJobs } from '../support/database-service.ts';
import { type Missing, makePublishedProject, publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const dropped: string[] = [];
let jobs: RecordedJobs;
let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startTestApi((service) =>
    publishingRoutes(service, (hostname) => void dropped.push(hostname)),
  );
  jobs = recordJobs(api.service);
  key = await api.keyWith('domains:read', 'domains:write');
});

afterAll(() => api.close());

beforeEach(() => {
  jobs.woken.length = 0;
  jobs.forgotten.length = 0;
  dropped.length = 0;
});

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });

const aProject = (missing: Missing = 'nothing') => makePublishedProject(call, missing);

describe('Adding a domain', () => {
  it('returns the record to create and wakes the workers', async () => {
    const path = await aProject();
    const { status, headers, body } = await call(`POST ${path}`, { hostname: 'docs.example.com' });
    expect(status).toBe(201);
    expect(headers['location']).toBe(`${path}/docs.example.com`);
    expect(body).toMatchObject({
      hostname: 'docs.example.com',
      status: 'pending',
      record: { type: 'CNAME', name: 'docs', ttl: 3600n },
      findings: [],
      checks: { attempts: 0n, windowEndsAt: '2026-11-22T12:00:00.000Z' },
      verifiedAt: null,
      certificate: { status: 'none' },
      escalation: null,
    });
    expect(jobs.woken).toEqual(['check-dns']);
    expect((await call(`GET ${path}`)).body).toEqual([body]);
    expect((await call(`GET ${path}/docs.example.com`)).body).toEqual(body);
  });

  it('cleans pasted names and shows both spellings', async () => {
    const path = await aProject();
    const { body } = await call(`POST ${path}`, { hostname: ' HTTPS://Bücher.Example.com./path ' });
    expect(body).toMatchObject({
      hostname: 'xn--bcher-kva.example.com',
      unicodeHostname: 'bücher.example.com',
    });
  });

  it('shows an ALIAS record for an apex', async () => {
    const path = await aProject();
    const { body } = await call(`POST ${path}`, { hostname: 'example.org' });
    expect(body).toMatchObject({ record: { type: 'ALIAS', name: '@' } });
  });

  it.each([
    [null, 'CNAME', 'a.sub'],
    [{ delegation: null }, 'CNAME', 'a.sub'],
    [{ delegation: { kind: 'unregistered', zone: 'example.com' } }, 'CNAME', 'a.sub'],
    [{ delegation: { kind: 'delegated', zone: 'example.com' } }, 'CNAME', 'a.sub'],
    [{ delegation: { kind: 'delegated', zone: 'sub.example.com' } }, 'CNAME', 'a'],
    [{ delegation: { kind: 'delegated', zone: 'a.sub.example.com' } }, 'ALIAS', '@'],
  ])('shows the record relative to its zone: %j', async (observation, type, name) => {
    const path = await aProject();
    const hostname = 'a.sub.example.com';
    await call(`POST ${path}`, { hostname });
    const [, , , projectId = ''] = path.split('/');
    if (observation !== null) {
      const { id: domainId } = await api.prisma.domain.findFirstOrThrow({ where: { projectId } });
      const usual = { parent: 'com', atParent: [], atZone: null, ttlSeconds: 300 };
      const delegation = observation.delegation && { ...usual, ...observation.delegation };
      const value = JSON.parse(JSON.stringify({ ...anObservation(), delegation }));
      await api.prisma.storedObservation.create({ data: { domainId, value } });
    }
    expect((await call(`GET ${path}/${hostname}`)).body).toMatchObject({
      record: { type, name },
    });
  });

  it('leaves out a finding of an unknown version', async () => {
    const path = await aProject();
    await call(`POST ${path}`, { hostname: 'docs.example.com' });
    const [, , , projectId = ''] = path.split('/');
    const known = { code: 'plan_required', hostname: 'docs.example.com' };
    const findings = [{ code: 'of_the_future', hostname: 'docs.example.com' }, known];
    await api.prisma.domain.updateMany({ where: { projectId }, data: { findings } });
    const { body } = await call(`GET ${path}/docs.example.com`);
    expect(body).toMatchObject({ findings: [{ code: 'plan_required' }] });
  });

  const refusals: readonly (readonly [string, number, string])[] = [
    ['', 400, 'invalid_hostname'],
    ['192.0.2.1', 400, 'invalid_hostname'],
    ['a_b.example.com', 400, 'invalid_hostname'],
    ['co.uk', 400, 'public_suffix'],
    ['*.example.com', 400, 'wildcard_unsupported'],
    ['x.edge.signpost.test', 400, 'platform_hostname'],
  ];
  it.each(refusals)('rejects %j with %d %s', async (hostname, status, code) => {
    const path = await aProject();
    const answer = await call(`POST ${path}`, { hostname });
    expect(answer).toMatchObject({ status, body: errorBody(status, code) });
    expect((await call(`GET ${path}`)).body).toEqual([]);
    expect(jobs.woken).toEqual([]);
  });

  it.each([
    ['plan', 403, 'paid_plan_required', 'requires a paid plan'],
    ['deploy', 409, 'deploy_required', ': POST …/deploys with {"status":"succeeded",'],
  ] as const)('without the %s answers %d %s', async (missing, status, code, words) => {
    const path = await aProject(missing);
    const answer = await call(`POST ${path}`, { hostname: 'docs.example.com' });
    const said = expect.stringContaining(words.replace('…', path.replace('/domains', '')));
    expect(answer).toMatchObject({ status, body: errorBody(status, code, said) });
    expect((await call(`GET ${path}`)).body).toEqual([]);
  });

  it('rejects a name that the project already has, in any spelling', async () => {
    const path = await aProject();
    await call(`POST ${path}`, { hostname: 'docs.example.com' });
    const again = await call(`POST ${path}`, { hostname: 'DOCS.example.com.' });
    expect(again).toMatchObject({ status: 409, body: errorBody(409, 'domain_exists') });
  });

  it('lets two projects wait for the same name', async () => {
    const [one, other] = [await aProject(), await aProject()];
    await call(`POST ${one}`, { hostname: 'docs.example.com' });
    const second = await call(`POST ${other}`, { hostname: 'docs.example.com' });
    expect(second.status).toBe(201);
  });

  it('names unknown fields', async () => {
    const path = await aProject();
    const answer = await call(`POST ${path}`, { host: 'docs.example.com' });
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', expect.stringContaining('host:')));
  });

  it('stops at the limit of its account and says when to retry', async () => {
    const path = await aProject();
    const where = { id: DEFAULT_ACCOUNT_ID };
    await api.prisma.account.update({ where, data: { limits: { domainsPerHour: 100 } } });
    onTestFinished(async () => {
      await api.prisma.account.update({ where, data: { limits: {} } });
    });
    await api.prisma.domain.updateMany({ data: { addedAt: new Date('2026-01-01T00:00:00Z') } });
    for (let index = 0; index < 100; index += 1) {
      const { status } = await call(`POST ${path}`, { hostname: `d${index}.example.com` });
      expect(status).toBe(201);
    }
    const answer = await call(`POST ${path}`, { hostname: 'one-too-many.example.com' });
    const words = expect.stringMatching(/100 new domains an hour.*domainsPerHour.*3600 seconds/);
    const body = errorBody(429, 'too_many_domains', words);
    expect(answer).toMatchObject({ status: 429, body });
    expect(answer.headers['retry-after']).toBe('3600');
    api.clock.now = new Date(api.clock.now.getTime() + HOUR);
    const later = await call(`POST ${path}`, { hostname: 'one-too-many.example.com' });
    expect(later.status).toBe(201);
  });
});

describe('Removing a domain', () => {
  it('is idempotent, ends its jobs and keeps its history', async () => {
    const path = await aProject();
    await call(`POST ${path}`, { hostname: 'docs.example.com' });
    expect((await call(`DELETE ${path}/docs.example.com`)).status).toBe(204);
    expect((await call(`DELETE ${path}/docs.example.com`)).status).toBe(204);
    for (const misspelled of ['dosc.example.com', 'co.uk']) {
      const answer = await call(`DELETE ${path}/${misspelled}`);
      expect(answer).toMatchObject({ status: 404, body: errorBody(404, 'domain_not_found') });
    }
    expect(jobs.forgotten).toEqual([expect.stringMatching(/\.1$/)]);
    expect(dropped).toEqual(['docs.example.com']);
    expect((await call(`GET ${path}/docs.example.com`)).status).toBe(404);
    const timeline = (await call(`GET ${path}/docs.example.com/timeline`)).body as object[];
    expect(timeline).toMatchObject([{ type: 'domain.removed' }, { type: 'domain.added' }]);
  });

  it('keeps its record for when it is added again', async () => {
    const path = await aProject();
    const first = await call(`POST ${path}`, { hostname: 'docs.example.com' });
    await call(`DELETE ${path}/docs.example.com`);
    const second = await call(`POST ${path}`, { hostname: 'docs.example.com' });
    expect(second.status).toBe(201);
    const recordOf = ({ body }: { body: unknown }) => (body as { record: unknown }).record;
    expect(recordOf(second)).toEqual(recordOf(first));
    expect((await call(`GET ${path}/docs.example.com/timeline`)).body).toHaveLength(3);
  });
});

describe('POST verify', () => {
  it('starts a new window with the same record and checks at once', async () => {
    const path = await aProject();
    await call(`POST ${path}`, { hostname: 'docs.example.com' });
    api.clock.now = new Date(api.clock.now.getTime() + HOUR);
    const answer = await call(`POST ${path}/docs.example.com/verify`);
    expect(answer).toMatchObject({
      status: 202,
      body: {
        status: 'pending',
        checks: { attempts: 0n, nextCheckAt: api.clock.now.toISOString() },
      },
    });
    expect(jobs.woken).toEqual(['check-dns', 'check-dns']);
  });

  it.each(['GET', 'POST'])('answers 404 to %s for an unknown domain', async (method) => {
    const path = await aProject();
    const line = `${method} ${path}/docs.example.com${method === 'POST' ? '/verify' : ''}`;
    expect(await call(line)).toMatchObject({
      status: 404,
      body: errorBody(404, 'domain_not_found'),
    });
  });
});
