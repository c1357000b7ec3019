import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { later, noon } from '../support/builders.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let projectId: string;
let path: string;

beforeAll(async () => {
  api = await startTestApi((service) => publishingRoutes(service));
  key = await api.keyWith('domains:read', 'domains:write');
});
afterAll(() => api.close());

const call = (line: string, json?: unknown, headers = {}) =>
  callApi(api.api, line, { key, headers, ...(json !== undefined && { json }) });

let count = 0;
beforeEach(async () => {
  count += 1;
  api.clock.now = noon;
  const project = { name: 'Docs', slug: `signing-${count}`, plan: 'pro' };
  projectId = ((await call('POST /v1/projects', project)).body as { id: string }).id;
  path = `/v1/projects/${projectId}/signing-secret`;
});

const secretOf = (generation: number) =>
  `sigsec_${Buffer.from(api.service.signingKey(projectId, generation)).toString('base64')}`;
const never = { rotatedAt: null, oldSecretEndsAt: null };

describe('The signing secret of a project', () => {
  it('exists from the start, is stable and is not cacheable', async () => {
    const answer = await call(`GET ${path}`);
    expect(answer).toMatchObject({
      status: 200,
      body: { projectId, secret: secretOf(1), ...never },
    });
    expect(secretOf(1)).toMatch(/^sigsec_[A-Za-z0-9+/]{43}=$/);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers).not.toHaveProperty('etag');
    expect((await call(`GET ${path}`)).text).toBe(answer.text);
  });

  it('differs between projects', async () => {
    const before = secretOf(1);
    const project = { name: 'Docs', slug: `signing-other-${count}` };
    const { body } = await call('POST /v1/projects', project);
    const other = await call(`GET /v1/projects/${(body as { id: string }).id}/signing-secret`);
    expect(other.body).not.toMatchObject({ secret: before });
  });

  it('is rotated, and the old one signs for one more day', async () => {
    const rotated = { projectId, rotatedAt: noon.toISOString() };
    const oldSecretEndsAt = later(noon, DAY).toISOString();
    const answer = await call(`POST ${path}/rotate`);
    const body = { ...rotated, secret: secretOf(2), oldSecretEndsAt };
    expect(answer).toMatchObject({ status: 200, body });
    expect((await call(`GET ${path}`)).body).toEqual(body);
    api.clock.now = later(noon, DAY);
    const day = { ...rotated, secret: secretOf(2), oldSecretEndsAt: null };
    expect((await call(`GET ${path}`)).body).toEqual(day);
    expect((await call(`POST ${path}/rotate`)).body).toMatchObject({ secret: secretOf(3) });
  });

  it('is rotated once per Idempotency-Key, and the replay omits it', async () => {
    const headers = { 'idempotency-key': `rotate-${projectId}` };
    const first = await call(`POST ${path}/rotate`, undefined, headers);
    const again = await call(`POST ${path}/rotate`, undefined, headers);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toEqual({ ...(first.body as object), secret: null });
    expect((await call(`GET ${path}`)).body).toMatchObject({ secret: secretOf(2) });
    const stored = await api.prisma.idempotentAnswer.findMany();
    expect(stored.map(({ body }) => body).join()).not.toContain(secretOf(2).slice(7));
  });

  it('is what the edge receives for a domain of the project', async () => {
    const target = 'x.edge.test';
    const domain = { projectId, hostname: `signed-${count}.example.com`, target };
    const at = { addedAt: noon, pendingSince: noon };
    await api.prisma.domain.create({ data: { id: projectId, ...domain, ...at, status: 'live' } });
    const { findRoute } = createEdgeLookups(api);
    expect(await findRoute(domain.hostname)).toMatchObject({
      projectId,
      signing: { generation: 1, oldEndsAt: null },
    });
    await call(`POST ${path}/rotate`);
    expect(await findRoute(domain.hostname)).toMatchObject({
      signing: { generation: 2, oldEndsAt: later(noon, DAY).getTime() },
    });
  });

  it('requires domains:write to be shown or rotated', async () => {
    const reader = await api.keyWith('domains:read');
    for (const line of [`GET ${path}`, `POST ${path}/rotate`]) {
      expect((await callApi(api.api, line, { key: reader })).body).toEqual(
        errorBody(403, 'insufficient_scope'),
      );
    }
  });

  it.each(['00000000-0000-4000-8000-00000000ffff', 'no-id'])('is 404 for %s', async (nobody) => {
    for (const line of ['GET', 'POST']) {
      const rest = line === 'POST' ? '/rotate' : '';
      const answer = await call(`${line} /v1/projects/${nobody}/signing-secret${rest}`);
      expect(answer.body).toEqual(errorBody(404, 'project_not_found'));
    }
  });
});
