import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerQueues, withDashboard } from '../../src/dashboard/dashboard.ts';
import { createSignInLimiters } from '../../src/http/limits/rate-limit.ts';
import type { QueueBoard } from '../../src/ops/queue-dashboard.ts';
import { plainService } from '../support/plain-service.ts';
import { API_KEY, type RunningDashboard, startDashboard } from './support/dashboard.ts';
import { type Pages, startPages } from './support/pages.ts';

const PROJECT = '00000000-0000-4000-8000-000000000000';
const DOMAINS = 'page:/projects/:projectId/domains';

describe('A page request', () => {
  let pages: Pages;
  beforeAll(async () => {
    pages = await startPages();
    await pages.signIn(await pages.keyWith('domains:read'));
  });
  afterAll(() => pages?.close());

  it('is logged once by its route, and its API calls have the same request id', async () => {
    const headers = { 'x-request-id': 'asked-by-a-proxy' };
    const { status, headers: sent } = await pages.show(`GET /projects/${PROJECT}/domains`, {
      headers,
    });
    expect([status, sent['x-request-id']]).toEqual([404, 'asked-by-a-proxy']);
    const ofPage = pages.recorded.lines.filter(({ fields }) => fields['operationId'] === DOMAINS);
    expect(ofPage).toMatchObject([
      { message: 'answered', fields: { status: 404, requestId: sent['x-request-id'] } },
    ]);
    expect(JSON.stringify(ofPage)).not.toContain(PROJECT);
    const ofApi = pages.lines.filter(({ fields }) => fields['requestId'] === 'asked-by-a-proxy');
    expect(ofApi.length).toBeGreaterThan(0);
    const [{ fields }] = ofPage as [(typeof ofPage)[number]];
    for (const line of ofApi) expect(line.fields['traceId']).toBe(fields['traceId']);
    expect(pages.recorded.counted).toContain(`${DOMAINS} 404`);
  });

  it('without a request id gets a new one, even for a redirect', async () => {
    const { status, headers } = await pages.show('GET /');
    expect([status, headers['x-request-id']]).toEqual([303, expect.any(String)]);
    const last = pages.recorded.lines.at(-1);
    expect(last?.fields).toMatchObject({
      operationId: 'page:/',
      requestId: headers['x-request-id'],
    });
  });

  it('for a missing page has the request id of the API error', async () => {
    const { headers } = await pages.show('GET /nothing/here');
    expect(pages.lines.at(-1)?.fields).toMatchObject({
      status: 404,
      requestId: headers['x-request-id'],
    });
  });

  it('that causes a fault shows its request id', async () => {
    const logged: Readonly<Record<string, unknown>>[] = [];
    const { config, queues, secrets, sessions } = pages.service;
    const note = (fields: (typeof logged)[number]) => void logged.push(fields);
    const log = { error: note, info: note, debug: () => {} };
    const api = { ...pages.api, handle: () => Promise.reject(new Error('broken')) };
    const service = plainService({ config, queues, secrets, sessions, log });
    const broken = withDashboard(service, api, {
      forget: pages.forget,
      signIns: createSignInLimiters(() => new Date()),
    });
    const { status, headers } = await broken.handle({
      method: 'POST',
      target: '/sign-in',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-request-id': 'one-that-breaks',
      },
      readBody: async () => ({ kind: 'bytes', bytes: Buffer.from('key=some-key') }),
      remoteAddress: '127.0.0.1',
    });
    expect([status, headers['x-request-id']]).toEqual([500, 'one-that-breaks']);
    expect(logged).toMatchObject([
      { requestId: 'one-that-breaks', page: '/sign-in' },
      { requestId: 'one-that-breaks', status: 500 },
    ]);
  });
});

describe('A page in the metrics', () => {
  let dashboard: RunningDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard();
  });
  afterAll(() => dashboard?.close());

  it('is counted once by its route, without its API calls', async () => {
    const { url } = dashboard;
    const project = await dashboard.aProject();
    const body = new URLSearchParams({ key: API_KEY });
    const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', redirect: 'manual', body });
    const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const page = await fetch(`${url}/projects/${project}/domains`, { headers: { cookie } });
    expect(page.status).toBe(200);
    const scraped = await fetch(`${url}/metrics`, {
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    const text = await scraped.text();
    expect(text).toContain(`signpost_http_requests_total{operation="${DOMAINS}",status="200"} 1\n`);
    expect(text).not.toContain('operation="listDomains"');
  });
});

describe('The queue pages', () => {
  const board = (fault: Error): QueueBoard => ({
    page: () => '',
    file: () => undefined,
    call: () => Promise.reject(fault),
  });
  const call = (fault: Error) =>
    answerQueues(
      plainService({}),
      { board: board(fault), link: (path) => path },
      {
        raw: {
          method: 'GET',
          target: '/ops/queues/api/queues',
          headers: { 'x-request-id': 'looked-up' },
          readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
          remoteAddress: undefined,
        },
        path: '/api/queues',
        query: new URLSearchParams(),
        session: {
          id: 'any',
          token: 'any',
          endsAt: new Date(),
          csrf: '',
          account: null,
          reach: 'installation',
          scopes: ['ops:read'],
        },
        api: {
          call: async <T>() => {
            const body = { accountId: null, scopes: ['ops:read'] } as T;
            return { ok: true, status: 200, body, etag: undefined, next: undefined };
          },
          pass: () => Promise.reject(new Error('not asked for')),
        },
      },
    );

  it.each([
    [503, 'does not answer', Object.assign(new Error('no'), { code: 'ECONNREFUSED' })],
    [503, 'does not answer', new Error('Connection is closed.')],
    [500, 'looked-up', new TypeError('x is not a function')],
  ])('answer %i, “%s”, to such a failure', async (status, words, fault) => {
    const { kind, ...answered } = await call(fault);
    expect(kind).toBe('sent');
    const { response } = answered as { response: { status: number; body: string } };
    expect([response.status, response.body]).toEqual([status, expect.stringContaining(words)]);
  });
});
