/** Names above and below PLATFORM_DOMAIN, over HTTP. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { platformDomain, publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let path: string;

beforeAll(async () => {
  api = await startTestApi((prisma, now) => publishingRoutes(prisma, now, {}));
  key = await api.keyWith('domains:read', 'domains:write');
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' };
  const { id } = (await call('POST /v1/projects', project)).body as { id: string };
  path = `/v1/projects/${id}`;
  await call(`POST ${path}/deploys`, { status: 'succeeded', upstream: 'http://deploy.test' });
});
afterAll(() => api?.close());

const call = (line: string, json?: unknown) => callApi(api.api, line, { key, json });

it.each([[platformDomain], [`docs.${platformDomain}`], ['signpost.test']])(
  '%s is added by nobody',
  async (hostname) => {
    const answer = await call(`POST ${path}/domains`, { hostname });
    expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'platform_hostname') });
  },
);

it('what is beside them is like any other name', async () => {
  const hostname = 'docs.signpost.test';
  expect(await call(`POST ${path}/domains`, { hostname })).toMatchObject({ status: 201 });
  expect(await call(`DELETE ${path}/domains/${hostname}`)).toMatchObject({ status: 204 });
});

it('what was attached before it became one of them is shown, and removed', async () => {
  await call(`POST ${path}/domains`, { hostname: 'docs.example.com' });
  await api.prisma.domain.updateMany({
    where: { hostname: 'docs.example.com' },
    data: { hostname: 'signpost.test' },
  });
  expect(await call(`GET ${path}/domains/signpost.test`)).toMatchObject({ status: 200 });
  expect(await call(`DELETE ${path}/domains/signpost.test`)).toMatchObject({ status: 204 });
  expect((await call(`GET ${path}/domains`)).body).toEqual([]);
});
