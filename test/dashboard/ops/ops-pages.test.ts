import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningDashboard, startDashboard } from '../support/dashboard.ts';
import { everyLife, hostile } from '../support/lives.ts';

let dashboard: RunningDashboard;
let ids: Readonly<Record<string, string>>;
let projectId: string;

beforeAll(async () => {
  dashboard = await startDashboard();
  ({ ids, projectId } = await everyLife(dashboard));
}, 180_000);
afterAll(() => dashboard?.close());

const idOf = (label: string) => ids[label] ?? '';
const prisma = () => dashboard.signpost.service.database.prisma;

type Browser = {
  readonly get: (path: string) => Promise<Response>;
  readonly text: (path: string) => Promise<string>;
  /** Submits the form of a page, with other fields and headers if given. */
  readonly send: (
    page: string,
    more?: { fields?: object; headers?: Readonly<Record<string, string>> },
  ) => Promise<Response>;
  readonly cookie: string;
};

/** A signed-in browser with a key of these scopes. */
async function browserOf(...scopes: readonly string[]): Promise<Browser> {
  const made = await dashboard.api<{ key: string }>('POST', '/v1/keys', { name: 'x', scopes });
  const { url } = dashboard;
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ key: made.key }),
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const get = (path: string) => fetch(url + path, { headers: { cookie }, redirect: 'manual' });
  const text = async (path: string) => (await get(path)).text();
  return {
    cookie,
    get,
    text,
    async send(page, { fields = {}, headers = {} } = {}) {
      const shown = await text(page);
      const hidden = [...shown.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
      const body = new URLSearchParams({
        ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])),
        ...fields,
      });
      const path = page.split('?')[0] ?? '';
      const sent = { method: 'POST', redirect: 'manual', body } as const;
      return fetch(url + path, { ...sent, headers: { cookie, ...headers } });
    },
  };
}

describe('Every page of the dashboard', () => {
  /** Follows the links of each page; of pages that differ only in IDs and queries, the first. */
  async function everyPage(): Promise<ReadonlyMap<string, { path: string; html: string }>> {
    const { get } = await browserOf('admin');
    const kinds = new Map<string, { path: string; html: string }>();
    const waiting = ['/', '/projects', '/ops', '/ops/queues', '/keys', '/accounts'];
    for (const path of waiting) {
      const [bare = ''] = path.split(/[?#]/);
      const kind = bare.replace(/[0-9a-f-]{36}/g, ':id').replace(/[^/]+\.test\b/, ':name');
      if (kinds.has(kind) || kind.startsWith('/assets/')) continue;
      const response = await get(path);
      const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
      const html = await response.text();
      kinds.set(kind, { path, html: isPage ? html : '' });
      if (isPage) waiting.push(...[...html.matchAll(/href="(\/[^"]*)"/g)].map(([, to = '']) => to));
    }
    return kinds;
  }

  it('loads scripts, styles and images from its own files only', async () => {
    const pages = await everyPage();
    expect(pages.size).toBeGreaterThan(12);
    for (const { path, html } of pages.values()) {
      const loaded = [...html.matchAll(/<(?:script|img|iframe)\b[^>]*\bsrc="([^"]*)"/g)];
      const linked = [...html.matchAll(/<link\b[^>]*\bhref="([^"]*)"/g)];
      const [, base = path] = /<base href="([^"]*)"/.exec(html) ?? [];
      const page = new URL(base, dashboard.url);
      const foreign = [...loaded, ...linked]
        .map(([, url = '']) => new URL(url, page))
        .filter(({ origin, protocol }) => origin !== page.origin && protocol !== 'data:');
      expect([path, foreign]).toEqual([path, []]);
      const inline = [...html.matchAll(/<script\b([^>]*)>/g)]
        .map(([, attributes = '']) => attributes)
        .filter((attributes) => !/src=|type="application\/json"/.test(attributes));
      expect([path, inline]).toEqual([path, []]);
    }
  });
});

describe('A key without ops:read', () => {
  it.each([
    '/ops',
    '/ops/domains?name=a',
    `/ops/domains/${randomUUID()}`,
    '/ops/queues',
    '/ops/queues/api/queues',
  ])('learns at %s which scope it needs', async (path) => {
    const response = await (await browserOf('domains:read')).get(path);
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('<code>ops:read</code>');
  });

  it('is never redirected to operator pages', async () => {
    expect(await (await browserOf('domains:read')).text('/projects')).not.toContain('href="/ops"');
    expect(await (await browserOf('admin')).text('/projects')).toContain('href="/ops"');
  });
});

it('The operator pages require a session', async () => {
  for (const path of ['/ops', '/ops/domains', '/ops/queues', '/ops/queues/api/queues']) {
    const response = await fetch(dashboard.url + path, { redirect: 'manual' });
    expect(response.headers.get('location')).toBe(`/?then=${encodeURIComponent(path)}`);
  }
});

describe('A key with ops:read', () => {
  it('reads everything and sees no action', async () => {
    const { text } = await browserOf('ops:read');
    const overview = await text('/ops');
    expect(overview).toContain('No worker has run yet');
    expect(overview).toContain('aria-label="Added: 6 in 24 hours; most, 6, in the hour from');
    expect(await text('/ops/domains?name=shop.exa')).toContain('blog.shop.example');
    const domain = await text(`/ops/domains/${idOf('new')}`);
    expect(domain).toContain('waiting for a worker');
    expect(domain).not.toMatch(/Run now|Re-verify/);
  });

  it('is rejected when it submits a form anyway', async () => {
    const path = `/ops/domains/${idOf('new')}`;
    const { send } = await browserOf('ops:read');
    expect((await send(`${path}/verify`)).status).toBe(403);
    expect((await send(`${path}/run?queue=check-dns`)).status).toBe(403);
  });
});

describe('An administrator', () => {
  it('confirms an action before it runs', async () => {
    const { send, text } = await browserOf('admin');
    const path = `/ops/domains/${idOf('new')}`;
    expect(await text(path)).toContain(`href="${path}/run?queue=check-dns"`);
    const done = await send(`${path}/run?queue=check-dns`);
    expect([done.status, done.headers.get('location')]).toEqual([303, path]);
    const refused = await send(`${path}/run?queue=issue-certificate`);
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('has no pending work'),
    ]);
    expect((await send(`${path}/verify`)).status).toBe(303);
    const timeline = `/v1/projects/${projectId}/domains/new.shop.example/timeline`;
    const [newest] = await dashboard.api<readonly { type: string }[]>('GET', timeline);
    expect(newest?.type).toBe('domain.reverify_requested');
  });

  it('closes an escalation', async () => {
    const id = randomUUID();
    const opened = { cause: 'platform_fault', evidence: {}, nextAction: '', openedAt: new Date() };
    await prisma().escalation.create({ data: { id, domainId: idOf('blog'), ...opened } });
    const { send, text } = await browserOf('admin');
    expect(await text('/ops')).toContain(`href="/ops/domains/${idOf('blog')}"`);
    const close = `/ops/domains/${idOf('blog')}/escalations/${id}/close`;
    expect(await text(`/ops/domains/${idOf('blog')}`)).toContain(`href="${close}"`);
    expect((await send(close)).status).toBe(303);
    expect(await prisma().escalation.findUnique({ where: { id } })).toMatchObject({
      closedAt: expect.any(Date),
    });
  });

  it.each([
    ['without the session’s token', { fields: { csrf: 'another' } }],
    ['from another site', { headers: { 'sec-fetch-site': 'cross-site' } }],
  ])('cannot submit a form %s', async (_words, more) => {
    const { send } = await browserOf('admin');
    const before = await prisma().domain.findUniqueOrThrow({ where: { id: idOf('www') } });
    expect((await send(`/ops/domains/${idOf('www')}/verify`, more)).status).toBe(403);
    expect(await prisma().domain.findUniqueOrThrow({ where: { id: idOf('www') } })).toEqual(before);
  });
});

describe('A missing platform setting', () => {
  /** The page of this domain for its operator and for its customer. */
  async function bothPages(label: string): Promise<readonly [string, string]> {
    const { text } = await browserOf('admin');
    const customers = `/projects/${projectId}/domains/${label}.shop.example`;
    return [await text(`/ops/domains/${idOf(label)}`), await text(customers)];
  }

  it('that a certificate needs is shown to the operator alone', async () => {
    const issuer = 'Signpost local authority 0a1b2c3d';
    await prisma().certificate.updateMany({ where: { domainId: idOf('www') }, data: { issuer } });
    const [operators, customers] = await bothPages('www');
    expect(operators).toContain('Set ACME_DIRECTORY_URL');
    expect(customers).not.toContain('ACME_');
    expect(customers).toContain('the platform’s operator has to set up');
  });

  it('that an open escalation needs is shown to the operator alone', async () => {
    const at = new Date();
    const detail = 'ca_misconfigured: check ACME_CONTACT';
    const evidence = { setback: { at: at.toISOString(), detail } };
    const opened = { cause: 'authority_unreachable', evidence, nextAction: '', openedAt: at };
    const id = randomUUID();
    await prisma().escalation.create({ data: { id, domainId: idOf('blog'), ...opened } });
    const [operators, customers] = await bothPages('blog');
    expect(operators).toContain('had not finished: ca_misconfigured: check ACME_CONTACT.');
    expect(customers).not.toContain('ACME_');
    expect(customers).toContain('the platform’s operator has to fix');
    await prisma().escalation.update({ where: { id }, data: { closedAt: at } });
  });
});

it('Foreign text is escaped on every page', async () => {
  const since = new Date();
  const until = new Date(since.getTime() + 3_600_000);
  const job = { queue: 'check-dns', jobId: `${idOf('docs')}.1`, domainId: idOf('docs') };
  await prisma().quarantine.create({ data: { ...job, reason: hostile, since, until } });
  await prisma().project.update({ where: { id: projectId }, data: { name: hostile } });
  const { text } = await browserOf('admin');
  const pages = [
    '/ops',
    '/ops/domains?name=docs',
    `/ops/domains/${idOf('docs')}`,
    `/ops/domains?name=${encodeURIComponent(hostile)}`,
    `/ops/domains/${idOf('docs')}/run?queue=${encodeURIComponent(hostile)}`,
  ];
  for (const page of pages) {
    const shown = await text(page);
    expect(shown, page).not.toMatch(/<img|<script>alert/);
  }
  expect(await text(`/ops/domains/${idOf('docs')}`)).toContain('&lt;script&gt;alert(2)');
});

describe('The queue pages', () => {
  const pause = '/ops/queues/api/queues/check-dns/pause';
  const put = ({ cookie }: Browser, path: string, headers: Readonly<Record<string, string>>) =>
    fetch(dashboard.url + path, { method: 'PUT', headers: { cookie, ...headers } });
  const here = { 'sec-fetch-site': 'same-origin' };
  const isPaused = async () =>
    (await dashboard.signpost.service.queues.opened('check-dns')).isPaused();

  it('accept changes from an administrator’s own page only', async () => {
    const [reader, admin] = [await browserOf('ops:read'), await browserOf('admin')];
    expect((await put(reader, pause, here)).status).toBe(403);
    expect((await put(admin, pause, {})).status).toBe(403);
    expect((await put(admin, pause, { 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await put(admin, pause, { origin: 'https://evil.test' })).status).toBe(403);
    expect(await isPaused()).toBe(false);
    expect((await put(admin, pause, here)).status).toBe(200);
    expect(await isPaused()).toBe(true);
    const resume = pause.replace('pause', 'resume');
    expect((await put(admin, resume, { origin: dashboard.url })).status).toBe(200);
    expect(await isPaused()).toBe(false);
  });

  it('are read-only for others and say so', async () => {
    const list = async (browser: Browser) =>
      (await (await browser.get('/ops/queues/api/queues')).json()) as {
        queues: readonly { name: string; readOnlyMode: boolean }[];
      };
    const shown = (await list(await browserOf('ops:read'))).queues;
    expect(shown.map(({ name }) => name)).toContain('deliver-webhook');
    expect(shown.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
    const changed = (await list(await browserOf('admin'))).queues;
    expect(changed.some(({ readOnlyMode }) => readOnlyMode)).toBe(false);
  });

  it('show jobs that contain only ids', async () => {
    const { get } = await browserOf('ops:read');
    const path = `/ops/queues/api/queues/check-dns/${idOf('split')}.1`;
    const shown = (await (await get(path)).json()) as { job: { data: unknown } };
    expect(shown.job.data).toEqual({ domainId: idOf('split'), epoch: 1 });
  });

  it('load nothing from other hosts and run no inline script', async () => {
    const response = await (await browserOf('ops:read')).get('/ops/queues/queue/check-dns');
    const page = await response.text();
    expect(page).toContain('<base href="/ops/queues/" />');
    expect(page).not.toMatch(/https?:\/\/|<style|style="|<%/);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toMatch(/unsafe-eval|https?:/);
  });

  it('have the headers of every page, and a policy that allows more only where the board needs it', async () => {
    const { get } = await browserOf('ops:read');
    const [page, board] = [await get('/ops'), await get('/ops/queues')];
    for (const name of ['cache-control', 'referrer-policy', 'x-content-type-options']) {
      expect([name, board.headers.get(name)]).toEqual([name, page.headers.get(name)]);
    }
    const rulesOf = ({ headers }: Response) =>
      (headers.get('content-security-policy') ?? '').split('; ');
    const onlyBoard = rulesOf(board).filter((rule) => !rulesOf(page).includes(rule));
    expect(onlyBoard).toEqual([
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "worker-src 'self'",
      "base-uri 'self'",
      "form-action 'none'",
    ]);
  });

  it('have cacheable assets and no other files', async () => {
    const { get, text } = await browserOf('ops:read');
    const script = /static\/js\/main\.\w+\.js/.exec(await text('/ops/queues'))?.[0];
    const { headers, status } = await get(`/ops/queues/${script}`);
    expect([status, headers.get('cache-control')]).toEqual([
      200,
      'private, max-age=31536000, immutable',
    ]);
    const outside = await get('/ops/queues/static/..%2f..%2fpackage.json');
    expect(await outside.text()).not.toContain('"version"');
  });
});
