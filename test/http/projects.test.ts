import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Missing, makePublishedProject, publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let path: string;
beforeAll(async () => {
  api = await startTestApi((service) => publishingRoutes(service));
  key = await api.keyWith('domains:read', 'domains:write');
  const made = await call('POST /v1/projects', { name: 'Docs', slug: 'docs', plan: 'pro' });
  path = made.headers['location'] ?? '';
});
afterAll(() => api?.close());

const call = (line: string, json?: unknown) => callApi(api.api, line, { key, json });

const words =
  'name: must be a string of 1 to 255 characters, without control characters or direction marks';

describe('The name of a project', () => {
  it.each([
    ['contains a bidirectional override', 'Docs\u202etxt.evil'],
    ['contains a directional isolate', 'Docs\u2066'],
    ['contains a directional mark', 'Docs\u200f'],
    ['contains a line separator', 'Docs\nand more'],
    ['contains a line break', 'Docs\u2028and more'],
    ['contains a terminal control character', 'Docs\u001b[31m'],
    ['contains half a surrogate pair', 'Docs\ud83d'],
  ])('is rejected when it %s', async (_, name) => {
    const refused = { status: 400, body: errorBody(400, 'invalid_body', words) };
    const project = { name, slug: 'disorderly', plan: 'pro' };
    expect(await call('POST /v1/projects', project)).toMatchObject(refused);
    expect(await call(`PATCH ${path}`, { name })).toMatchObject(refused);
  });

  it.each(['فروشگاه\u200cها', 'חנות', '店 №1', '👩\u200d💻 Docs'])('can be %s', async (name) => {
    expect(await call(`PATCH ${path}`, { name })).toMatchObject({ status: 200, body: { name } });
  });
});

const aProject = (missing: Missing = 'nothing') => makePublishedProject(call, missing);

describe('Projects', () => {
  it.each([
    ['GET /v1/projects/nonsense', undefined],
    ['GET /v1/projects/00000000-0000-4000-8000-00000000ffff', undefined],
    ['PATCH /v1/projects/nonsense', { plan: 'pro' }],
    [
      'POST /v1/projects/00000000-0000-4000-8000-00000000ffff/deploys',
      { status: 'failed', upstream: 'http://a.example' },
    ],
    ['POST /v1/projects/nonsense/domains', { hostname: 'docs.example.com' }],
    ['DELETE /v1/projects/nonsense/domains/docs.example.com', undefined],
  ])('%s answers 404 project_not_found', async (line, json) => {
    const answer = await call(line, json);
    expect(answer).toMatchObject({ status: 404, body: errorBody(404, 'project_not_found') });
  });

  it('are found by the name of their domain in any spelling', async () => {
    const ids = [await aProject(), await aProject()].map((path) => path.split('/')[3]);
    for (const id of ids) {
      await call(`POST /v1/projects/${id}/domains`, { hostname: 'found.example.com' });
    }
    const found = async (spelling: string) => {
      const line = `GET /v1/projects?hostname=${encodeURIComponent(spelling)}`;
      return ((await call(line)).body as { id: string }[]).map(({ id }) => id);
    };
    expect(await found('https://FOUND.example.com/')).toEqual(ids);
    await call(`DELETE /v1/projects/${ids[0]}/domains/found.example.com`);
    expect(await found('found.example.com')).toEqual([ids[1]]);
    expect(await found('nobody.example.com')).toEqual([]);
    expect(await found('no host name')).toEqual([]);
  });

  it('reject a slug that is taken', async () => {
    const project = { name: 'Docs', slug: 'taken' };
    expect((await call('POST /v1/projects', project)).body).toMatchObject({ plan: 'free' });
    expect(await call('POST /v1/projects', project)).toMatchObject({ status: 409 });
  });

  it.each([
    'ftp://a.example',
    'http://user:secret@a.example',
    'http://a.example/?q=1',
    'a.example',
  ])('reject %s as an upstream', async (upstream) => {
    const path = (await aProject()).replace('/domains', '/deploys');
    const answer = await call(`POST ${path}`, { status: 'succeeded', upstream });
    expect(answer.body).toEqual(
      errorBody(400, 'invalid_body', expect.stringContaining('upstream:')),
    );
  });

  it('cannot publish with a failed deploy', async () => {
    const path = await aProject('deploy');
    const deploy = { status: 'failed', upstream: 'http://a.example' };
    await call(`POST ${path.replace('/domains', '/deploys')}`, deploy);
    expect(await call(`POST ${path}`, { hostname: 'docs.example.com' })).toMatchObject({
      status: 409,
    });
  });

  it('require domains:read for reading and domains:write for changes', async () => {
    const reader = await api.keyWith('domains:read');
    const json = { name: 'Docs', slug: 'no' };
    expect((await callApi(api.api, 'GET /v1/projects', { key: reader })).status).toBe(200);
    expect((await callApi(api.api, 'POST /v1/projects', { key: reader, json })).status).toBe(403);
  });
});
