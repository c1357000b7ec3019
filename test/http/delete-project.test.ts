import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { createWebhookStore } from '../../src/db/delivery/webhooks.ts';
import { domainSettingsRoutes } from '../../src/http/routes/domain-settings.ts';
import { type RecordedJobs, recordJobs } from '../support/database-service.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const dropped: string[] = [];
let jobs: RecordedJobs;
let api: TestApi;
let key: string;
let id: string;

beforeAll(async () => {
  api = await startTestApi((service) => [
    ...publishingRoutes(service, (hostname) => void dropped.push(hostname)),
    ...domainSettingsRoutes(service),
  ]);
  jobs = recordJobs(api.service);
  key = await api.keyWith('domains:read', 'domains:write');
});
afterAll(() => api.close());

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });
const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' };

beforeEach(async () => {
  dropped.length = 0;
  jobs.forgotten.length = 0;
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' };
  const created = await call('POST /v1/projects', project);
  expect(created.status).toBe(201); // the slug of a deleted project is free again
  id = (created.body as { id: string }).id;
  await call(`POST /v1/projects/${id}/deploys`, deploy);
  return async () => {
    await call(`DELETE /v1/projects/${id}?domains=remove`);
  };
});

async function addDomain(hostname: string, status: 'pending' | 'live' | 'drifted' = 'pending') {
  await call(`POST /v1/projects/${id}/domains`, { hostname });
  await api.prisma.domain.updateMany({ where: { projectId: id, hostname }, data: { status } });
}

const notFound = { status: 404, body: errorBody(404, 'project_not_found') };

describe('Deleting a project', () => {
  it('ends everything that it has', async () => {
    await addDomain('a.example.com');
    await addDomain('b.example.com');
    const webhooks = createWebhookStore(api.prisma);
    const owner = { access: wholeInstallation, projectId: id };
    const webhook = { id: '0198c2a7-5d1e-4f60-9b1c-2f6e8a3d4c55', eventTypes: [] };
    const more = { url: 'https://hooks.example.com/', sealedSecret: new Uint8Array(1) };
    await webhooks.create(owner, { ...webhook, ...more, createdAt: api.clock.now }, 10);
    expect(await call(`DELETE /v1/projects/${id}`)).toMatchObject({ status: 204 });
    for (const path of ['', '/domains', '/deploys', '/signing-secret', '/domains/a.example.com']) {
      expect(await call(`GET /v1/projects/${id}${path}`), path).toMatchObject(notFound);
    }
    for (const [line, json] of [
      [`PATCH /v1/projects/${id}`, { name: 'New' }],
      [`POST /v1/projects/${id}/deploys`, deploy],
      [`POST /v1/projects/${id}/signing-secret/rotate`, undefined],
      [`DELETE /v1/projects/${id}`, undefined],
    ] as const) {
      expect(await call(line, json), line).toMatchObject(notFound);
    }
    expect(dropped.sort()).toEqual(['a.example.com', 'b.example.com']);
    expect(jobs.forgotten).toHaveLength(2);
    expect(await webhooks.find(owner, webhook.id)).toBeNull();
    const where = { projectId: id, type: 'domain.removed' };
    expect(await api.prisma.event.count({ where })).toBe(2);
    const open = { status: 'pending', webhook: { projectId: id } } as const;
    expect(await api.prisma.webhookDelivery.count({ where: open })).toBe(0);
  });

  it.each(['live', 'drifted'] as const)('is refused while a domain is %s', async (status) => {
    await addDomain('a.example.com', status);
    await addDomain('b.example.com');
    const answer = await call(`DELETE /v1/projects/${id}`);
    const body = errorBody(409, 'project_has_live_domains');
    expect(answer).toMatchObject({ status: 409, body });
    expect((answer.body as { message: string }).message).toContain('a.example.com');
    expect(JSON.stringify(answer.body, (_, value) => String(value))).not.toContain('b.example.com');
    expect((await call(`GET /v1/projects/${id}/domains`)).body).toHaveLength(2);
    expect(await call(`DELETE /v1/projects/${id}?domains=remove`)).toMatchObject({ status: 204 });
    expect(dropped).toContain('a.example.com');
  });

  it('removes a primary domain and redirect targets, too', async () => {
    await addDomain('a.example.com');
    await addDomain('b.example.com');
    const redirects = [{ from: 'b.example.com', to: 'a.example.com', status: 301 }];
    const settings = { domains: { primary: 'a.example.com', redirects } };
    const put = await call(`PUT /v1/projects/${id}/domain-settings`, settings);
    expect(put.status).toBe(200);
    expect(await call(`DELETE /v1/projects/${id}`)).toMatchObject({ status: 204 });
  });

  it('removes domains that are added while it runs, or refuses them', async () => {
    const adding = Array.from({ length: 12 }, (_, at) =>
      call(`POST /v1/projects/${id}/domains`, { hostname: `d${at}.example.com` }),
    );
    const deleted = call(`DELETE /v1/projects/${id}`);
    const statuses = (await Promise.all(adding)).map(({ status }) => status);
    expect(await deleted).toMatchObject({ status: 204 });
    expect(statuses.every((status) => [201, 404].includes(status))).toBe(true);
    const attached = { projectId: id, removedAt: null };
    expect(await api.prisma.domain.count({ where: attached })).toBe(0);
  });

  it('leaves the host names to other projects', async () => {
    await addDomain('a.example.com', 'live');
    await call(`DELETE /v1/projects/${id}?domains=remove`);
    const other = await call('POST /v1/projects', { name: 'Other', slug: 'other', plan: 'pro' });
    const path = `/v1/projects/${(other.body as { id: string }).id}`;
    await call(`POST ${path}/deploys`, deploy);
    expect(await call(`POST ${path}/domains`, { hostname: 'a.example.com' })).toMatchObject({
      status: 201,
    });
    await call(`DELETE ${path}`);
  });

  it('refuses another value of `domains`', async () => {
    expect(await call(`DELETE /v1/projects/${id}?domains=keep`)).toMatchObject({
      status: 400,
      body: errorBody(400, 'invalid_query'),
    });
  });
});

describe('The current deploy of a project', () => {
  it('is the newest that succeeded', async () => {
    const current = async () =>
      ((await call(`GET /v1/projects/${id}`)).body as { deploy: object }).deploy;
    expect(await current()).toMatchObject({ upstream: deploy.upstream, upstreamCa: null });
    await call(`POST /v1/projects/${id}/deploys`, { ...deploy, upstream: 'https://new.example/' });
    expect(await current()).toMatchObject({ upstream: 'https://new.example/' });
    const failed = { status: 'failed', upstream: 'https://failed.example/' };
    await call(`POST /v1/projects/${id}/deploys`, failed);
    expect(await current()).toMatchObject({ upstream: 'https://new.example/' });
    const deploys = (await call(`GET /v1/projects/${id}/deploys`)).body as { id: string }[];
    expect(deploys).toMatchObject([{ status: 'failed' }, { status: 'succeeded' }, deploy]);
    const [{ id: deployId } = { id: '' }] = deploys;
    expect((await call(`GET /v1/projects/${id}/deploys/${deployId}`)).body).toEqual(deploys[0]);
    for (const unknown of ['x', id]) {
      expect(await call(`GET /v1/projects/${id}/deploys/${unknown}`)).toMatchObject({
        status: 404,
        body: errorBody(404, 'deploy_not_found'),
      });
    }
  });

  it('is null before the first one', async () => {
    const made = await call('POST /v1/projects', { name: 'New', slug: 'new' });
    const { id: newId } = made.body as { id: string };
    expect((await call(`GET /v1/projects/${newId}`)).body).toMatchObject({ deploy: null });
    await call(`DELETE /v1/projects/${newId}`);
  });
});
