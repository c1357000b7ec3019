/** Who changed something in the dashboard is in the audit log: by their key, their browser and their address. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_KEY, type RunningDashboard, startDashboard } from './support/dashboard.ts';

let dashboard: RunningDashboard;
let cookie: string;
const browser = { 'user-agent': 'a browser', 'sec-fetch-site': 'same-origin' };
beforeAll(async () => {
  dashboard = await startDashboard();
  const body = new URLSearchParams({ key: API_KEY });
  const url = `${dashboard.url}/sign-in`;
  const signedIn = await fetch(url, { method: 'POST', redirect: 'manual', body });
  cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}, 60_000);
afterAll(() => dashboard?.close());

const ask = (method: string, path: string, headers: Readonly<Record<string, string>> = browser) =>
  fetch(`${dashboard.url}/ops/queues/api${path}`, { method, headers: { ...headers, cookie } });
const entries = () => dashboard.api<readonly object[]>('GET', '/v1/audit?limit=100');

it('a queue that is paused leaves an entry that names it', async () => {
  expect((await ask('PUT', '/queues/check-dns/pause')).status).toBe(200);
  const [entry] = await entries();
  const [session] = await dashboard.api<readonly { id: string }[]>('GET', '/v1/sessions');
  expect(entry).toMatchObject({
    actor: 'installation',
    keyId: 'configured',
    sessionId: session?.id,
    accountId: null,
    operationId: 'queues:PUT /api/queues/:queueName/pause',
    object: { kind: 'queue', id: 'check-dns' },
    outcome: 'done',
    code: null,
    userAgent: 'a browser',
    address: expect.stringMatching(/./),
    requestId: expect.stringMatching(/./),
  });
});

it('a change of which nothing came says so, and takes nothing of the path that is not ours', async () => {
  const planted = 'planted-secret';
  await ask('PUT', `/queues/${planted}/${planted}/retry`);
  await ask('PUT', `/queues/check-dns/${planted}/retry`);
  const found = await entries();
  const operationId = 'queues:PUT /api/queues/:queueName/:jobId/retry';
  expect(found.slice(0, 2)).toMatchObject([
    { operationId, object: { kind: 'queue', id: 'check-dns' }, outcome: 'failed', code: '404' },
    { operationId, object: { kind: 'queue', id: 'all' }, outcome: 'failed', code: '404' },
  ]);
  expect(JSON.stringify(found)).not.toContain(planted);
});

it('what only reads, comes from elsewhere or is no call of the board leaves none', async () => {
  const before = (await entries()).length;
  expect((await ask('GET', '/queues')).status).toBe(200);
  const elsewhere = { 'sec-fetch-site': 'cross-site' };
  expect((await ask('PUT', '/queues/check-dns/pause', elsewhere)).status).toBe(403);
  expect((await ask('PUT', '/nothing')).status).toBe(404);
  expect(await entries()).toHaveLength(before);
});

it('a form of a page leaves the entry of its operation, with the browser', async () => {
  const page = await fetch(`${dashboard.url}/projects`, { headers: { ...browser, cookie } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const body = new URLSearchParams({ csrf, name: 'Docs', slug: 'docs', plan: 'pro' });
  const headers = { ...browser, cookie };
  const url = `${dashboard.url}/projects`;
  const made = await fetch(url, { method: 'POST', redirect: 'manual', headers, body });
  expect(made.status).toBe(303);
  const [entry] = await entries();
  expect(entry).toMatchObject({
    operationId: 'createProject',
    keyId: 'configured',
    userAgent: 'a browser',
  });
});
