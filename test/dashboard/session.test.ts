import { afterAll, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { mintKey } from '../../src/config/api-key.ts';
import { createSessions } from '../../src/dashboard/session.ts';
import { type Pages, startPages } from './support/pages.ts';

const NO_PROJECT = '00000000-0000-4000-8000-000000000000';

let pages: Pages;
let key: string;
beforeAll(async () => {
  pages = await startPages();
  key = await pages.keyWith('domains:read', 'domains:write');
});
beforeEach(() => pages.forgetCookie());
afterAll(() => pages?.close());

describe('Signing in', () => {
  it('stores the key in a cookie that scripts, other hosts and plain HTTP cannot read', async () => {
    const { status, headers } = await pages.signIn(key);
    expect(status).toBe(303);
    expect(headers['location']).toBe('/?why=cookie');
    const [pair = '', ...attributes] = (headers['set-cookie'] ?? '').split('; ');
    expect(pair).toMatch(/^__Host-signpost=[\w-]+\.\.[\w.-]+$/);
    expect(pair).not.toContain(key);
    expect(attributes.sort()).toEqual(
      ['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax', 'Secure'].sort(),
    );
    expect(await pages.show('GET /')).toMatchObject({
      status: 303,
      headers: { location: '/projects' },
    });
  });

  it.each([
    ['', 400, 'Enter an API key.'],
    ['signpost_not_a_key', 401, 'key'],
  ])('with %j shows the error in place', async (typed, status, reason) => {
    const answer = await pages.signIn(typed);
    expect(answer).toMatchObject({ status, text: expect.stringContaining(reason) });
    expect(answer.text).toContain('aria-invalid="true"');
    expect(pages.cookie()).toBeUndefined();
  });

  it('continues to the requested page, but never to another site', async () => {
    const asked = await pages.show('GET /projects?page=2');
    expect(asked.headers['location']).toBe('/?then=%2Fprojects%3Fpage%3D2');
    const then = async (path: string) => {
      pages.forgetCookie();
      const form = Object.fromEntries([
        ['key', key],
        ['then', path],
      ]);
      const { headers } = await pages.show('POST /sign-in', { form });
      return (await pages.show(`GET ${headers['location']}`)).headers['location'];
    };
    expect(await then('/projects?page=2')).toBe('/projects?page=2');
    for (const elsewhere of ['//evil.test', 'https://evil.test/', '/\\evil.test', '/ /evil.test']) {
      expect(await then(elsewhere)).toBe('/projects');
    }
  });

  it('ends after a working day, by signing out, and with the key', async () => {
    await pages.signIn(key);
    const before = pages.clock.now;
    pages.clock.now = new Date(before.getTime() + 12 * 3_600_000 + 1_000);
    expect((await pages.show('GET /projects')).headers['location']).toMatch(/^\/\?then=/);
    pages.clock.now = before;
    expect((await pages.show('GET /projects')).status).toBe(200);
    const out = await pages.show('POST /sign-out', { form: {} });
    expect(out.headers).toMatchObject({ location: '/' });
    expect(pages.cookie()).toBeUndefined();
    const short = await pages.keyWith('domains:read');
    await pages.signIn(short);
    const [, id = ''] = short.split('_');
    await pages.prisma.apiKey.update({ where: { id }, data: { revokedAt: before } });
    pages.clock.now = new Date(before.getTime() + 6_000); // the key cache
    const over = await pages.show('GET /projects');
    expect(over.headers['location']).toBe('/?then=%2Fprojects&why=ended');
    expect(pages.cookie()).toBeUndefined();
    expect((await pages.show('GET /?why=ended')).text).toContain('has expired or was revoked');
  });

  it('accepts a key that cannot read projects, and the pages say why they are empty', async () => {
    await pages.signIn(await pages.keyWith('ops:read'));
    expect(await pages.show('GET /projects')).toMatchObject({
      status: 403,
      text: expect.stringContaining('requires a key with the scope domains:read'),
    });
  });
});

describe('A form', () => {
  const project = { name: 'Docs', slug: 'from-elsewhere', plan: 'pro' };

  test.each([
    ['without the token', { csrf: '' }, {}],
    ['with the token of another session', { csrf: 'A'.repeat(22) }, {}],
    ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling host', {}, { 'sec-fetch-site': 'same-site' }],
    ['that is not form data', {}, { 'content-type': 'text/plain' }],
  ])('%s changes nothing', async (_, csrf, headers) => {
    await pages.signIn(key);
    await pages.show('GET /projects');
    const answer = await pages.show('POST /projects', { form: { ...project, ...csrf }, headers });
    expect(answer).toMatchObject({
      status: 403,
      text: expect.stringContaining('Nothing was changed'),
    });
    expect(await pages.prisma.project.count()).toBe(0);
  });

  it('submitted after the session ended returns to its page after the sign-in', async () => {
    const answer = await pages.show('POST /projects', {
      form: project,
      headers: { host: 'dash.test', referer: 'https://dash.test/projects?page=3' },
    });
    expect(answer.headers['location']).toBe('/?then=%2Fprojects');
    const elsewhere = { host: 'dash.test', referer: 'https://evil.test/x' };
    const other = await pages.show(`POST /projects/${NO_PROJECT}/plan`, {
      form: {},
      headers: elsewhere,
    });
    expect(other.headers['location']).toBe('/?then=%2Fprojects');
    expect(await pages.prisma.project.count()).toBe(0);
  });
});

describe('Every page', () => {
  it('blocks foreign sources, inline code and framing', async () => {
    await pages.signIn(key);
    for (const line of ['GET /projects', `GET /projects/${NO_PROJECT}/domains`, 'GET /nothing']) {
      const { headers, text } = await pages.show(line);
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      );
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
      });
      expect(text).not.toMatch(/<script>|<style|\sstyle=|\son\w+=/);
    }
  });

  it('answers HEAD like GET, without the body', async () => {
    await pages.signIn(key);
    const get = await pages.show('GET /projects');
    const head = await pages.show('HEAD /projects');
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  it('has immutable style and script URLs', async () => {
    const { text } = await pages.show('GET /');
    const paths = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const asset = await pages.show(`GET ${path}`);
      expect(asset.status).toBe(200);
      expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      const imports = [...asset.text.matchAll(/from '\.\/([^']+)'/g)].map(([, name]) => name);
      for (const name of imports) expect(paths).toContain(`/assets/${name}`);
    }
    expect((await pages.show('GET /assets/style-000000000000.css')).status).toBe(404);
  });

  it('is an error page for browsers and an Error for other clients when missing', async () => {
    const page = await pages.show('GET /nothing/here');
    expect(page).toMatchObject({ status: 404, text: expect.stringContaining('Page not found') });
    const headers = { accept: 'application/json' };
    for (const line of ['GET /nothing/here', 'GET /v1/nothing']) {
      const answer = await pages.show(line, { headers });
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'not_found', status: 404 });
    }
  });
});

describe('Behind a base path', () => {
  it('every path starts with it', async () => {
    const below = await startPages('/store');
    try {
      const token = await below.keyWith('domains:read', 'domains:write');
      expect((await below.show('GET /projects')).headers['location']).toBe(
        '/store/?then=%2Fprojects',
      );
      expect((await below.signIn(token)).headers['location']).toBe('/store/?why=cookie');
      const { text } = await below.show('GET /projects');
      const paths = [...text.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)].map(([, path]) => path);
      expect(paths.length).toBeGreaterThan(5);
      for (const path of paths) expect(path).toMatch(/^\/store\//);
    } finally {
      await below.close();
    }
  });
});

describe('A session', () => {
  const manage = ['domains:read', 'domains:write', 'admin'] as const;
  const count = () => pages.prisma.session.count();

  it('is refused after signing out, also in a copied cookie', async () => {
    const { headers } = await pages.signIn(key);
    const cookie = headers['set-cookie']?.split(';')[0] ?? '';
    await pages.show('GET /projects');
    await pages.show('POST /sign-out', { form: {} });
    const copied = await pages.show('GET /projects', { headers: { cookie } });
    expect(copied.headers['location']).toBe('/?then=%2Fprojects&why=ended');
  });

  it('shows address and browser at the keys page, which ends it', async () => {
    await pages.prisma.session.deleteMany();
    const agent = { 'user-agent': 'Firefox on <a> laptop\u00e9' };
    await pages.show('POST /sign-in', { form: { key }, headers: agent });
    pages.forgetCookie();
    await pages.signIn(await pages.keyWith(...manage));
    const { text } = await pages.show('GET /keys');
    expect(text).toContain('Firefox on &lt;a&gt; laptop<');
    expect(text).toContain('127.0.0.1');
    const [, end = ''] = /action="(\/sessions\/[^"]+\/end)"/.exec(text) ?? [];
    await pages.show(`POST ${end}`, { form: {} });
    expect(await count()).toBe(1);
    expect((await pages.show('GET /keys')).text).toContain('This session');
  });

  it('keeps its end when another account is chosen', async () => {
    await pages.signIn(key);
    const sessions = createSessions(pages.service, pages.forget);
    const session = await sessions.find(pages.cookie());
    if (session === null) throw new Error('the cookie has no session');
    const before = pages.clock.now;
    pages.clock.now = new Date(before.getTime() + 3_600_000);
    const cookie = await sessions.choose(session, { id: NO_PROJECT, name: 'Chosen' });
    expect(cookie).toContain(`Max-Age=${11 * 3_600}`);
    expect(await sessions.find(cookie.split(';')[0])).toMatchObject({
      endsAt: session.endsAt,
      account: { name: 'Chosen' },
    });
    pages.clock.now = before;
  });

  it('is deleted by a later sign-in, once it is past its end', async () => {
    await pages.prisma.session.deleteMany();
    await pages.signIn(key);
    pages.forgetCookie();
    const before = pages.clock.now;
    pages.clock.now = new Date(before.getTime() + 13 * 3_600_000);
    await pages.signIn(key);
    expect(await count()).toBe(1);
    pages.clock.now = before;
  });
});

describe('Wrong keys', () => {
  const attempt = (typed: string, remoteAddress: string) =>
    pages.show('POST /sign-in', { form: { key: typed }, remoteAddress });
  const nextWindow = () => {
    pages.clock.now = new Date(pages.clock.now.getTime() + 61_000);
  };
  beforeEach(nextWindow);

  it('from one address are refused until its window ends; another address signs in', async () => {
    for (const _ of Array(20)) await attempt(mintKey().token, '192.0.2.1');
    const refused = await attempt(key, '192.0.2.1');
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(refused.text).toContain('Try again in 60 seconds');
    expect((await attempt(key, '192.0.2.2')).status).toBe(303);
    nextWindow();
    expect((await attempt(key, '192.0.2.1')).status).toBe(303);
  });

  it('of one key ID are refused from all addresses, but the first of each address', async () => {
    const wrong = mintKey().token;
    const statuses: number[] = [];
    for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      for (const _ of Array(6)) statuses.push((await attempt(wrong, address)).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(10 + 3);
    expect(statuses.at(-1)).toBe(429);
    expect((await attempt(wrong, '203.0.113.9')).status).toBe(401);
  });

  it('in another format than keys count for the address only', async () => {
    for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3']) {
      for (const _ of Array(6)) expect((await attempt('garbage', address)).status).toBe(401);
    }
    for (const _ of Array(14)) await attempt('garbage', '198.51.100.1');
    expect((await attempt('garbage', '198.51.100.1')).status).toBe(429);
  });

  it('count for an API_KEY in another format, unless they cannot be it', async () => {
    const configured = await startPages('', undefined, { API_KEY: 'a key of any format' });
    const guess = async (typed: string, host: number) => {
      const form = { key: typed };
      const remoteAddress = `198.51.100.${host}`;
      return (await configured.show('POST /sign-in', { form, remoteAddress })).status;
    };
    const { token } = mintKey();
    const mistyped = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');
    for (const _ of Array(12)) await guess(mistyped, 1);
    for (const _ of Array(11)) expect(await guess('garbage', 2)).toBe(401);
    expect(await guess('garbage', 2)).toBe(429);
    await configured.close();
  });

  it('do not include other failures', async () => {
    const { token } = mintKey();
    const finding = vi.spyOn(pages.service.apiKeys, 'find').mockRejectedValue(new Error('down'));
    for (const _ of Array(30)) expect((await attempt(token, '192.0.2.1')).status).toBe(500);
    finding.mockRestore();
    expect((await attempt(token, '192.0.2.1')).status).toBe(401);
    for (const _ of Array(30)) expect((await attempt('', '192.0.2.1')).status).toBe(400);
    expect((await attempt(key, '192.0.2.1')).status).toBe(303);
  });

  it('do not include right ones', async () => {
    for (const _ of Array(30)) expect((await attempt(key, '192.0.2.1')).status).toBe(303);
  });
});
