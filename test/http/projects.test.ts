import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;
let path: string;
beforeAll(async () => {
  api = await startTestApi((prisma, now) => publishingRoutes(prisma, now, {}));
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

  it('is shown unchanged when it was stored before that rule', async () => {
    const name = 'Docs\u202etxt.evil';
    await api.prisma.project.updateMany({ data: { name } });
    expect(await call(`GET ${path}`)).toMatchObject({ status: 200, body: { name } });
  });
});
