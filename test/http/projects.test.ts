/** Names of projects, over HTTP without a socket: people read them, in lists and beside other words. */
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

describe('the name of a project', () => {
  it.each([
    ['turns around what follows', 'Docs\u202etxt.evil'],
    ['isolates a part of the line', 'Docs\u2066'],
    ['marks a direction', 'Docs\u200f'],
    ['breaks the line', 'Docs\nand more'],
    ['breaks the line in another way', 'Docs\u2028and more'],
    ['is a control of terminals', 'Docs\u001b[31m'],
    ['is half a character', 'Docs\ud83d'],
  ])('holds nothing that %s', async (_, name) => {
    const refused = { status: 400, body: errorBody(400, 'invalid_body', words) };
    const project = { name, slug: 'disorderly', plan: 'pro' };
    expect(await call('POST /v1/projects', project)).toMatchObject(refused);
    expect(await call(`PATCH ${path}`, { name })).toMatchObject(refused);
  });

  it.each(['فروشگاه\u200cها', 'חנות', '店 №1', '👩\u200d💻 Docs'])('may be %s', async (name) => {
    expect(await call(`PATCH ${path}`, { name })).toMatchObject({ status: 200, body: { name } });
  });

  it('is shown as it was stored before such names were refused', async () => {
    const name = 'Docs\u202etxt.evil';
    await api.prisma.project.updateMany({ data: { name } });
    expect(await call(`GET ${path}`)).toMatchObject({ status: 200, body: { name } });
  });
});
