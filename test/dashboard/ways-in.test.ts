import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { redirectTo } from '../../src/dashboard/respond.ts';
import { type Pages, startPages } from './support/pages.ts';

let pages: Pages;
let key: string;
beforeAll(async () => {
  pages = await startPages();
  key = await pages.keyWith('domains:read', 'domains:write');
});
beforeEach(() => pages.forgetCookie());
afterAll(() => pages?.close());

const signIn = (more: Readonly<Record<string, string>> = {}, headers = {}) =>
  pages.show('POST /sign-in', { form: { key, ...more }, headers });

/** Pairs, since an object with a `then` looks like a promise. */
const signInTo = (path: string) => signIn(Object.fromEntries([['then', path]]));

/** The final URL of the browser. */
async function followed(location = '') {
  const next = await pages.show(`GET ${location}`);
  return next.headers['location'];
}

describe('A sign-in', () => {
  it('continues once the browser has stored the session', async () => {
    const answer = await signInTo('/projects?page=2');
    expect(answer.headers['location']).toBe('/?why=cookie&then=%2Fprojects%3Fpage%3D2');
    expect(await followed(answer.headers['location'])).toBe('/projects?page=2');
  });

  it('explains a missing session cookie and keeps the requested page', async () => {
    const answer = await signInTo('/projects?page=2');
    pages.forgetCookie();
    const { status, text } = await pages.show(`GET ${answer.headers['location']}`);
    expect(status).toBe(200);
    expect(text).toContain(
      'Your browser didn’t keep the session. The dashboard requires HTTPS or localhost.',
    );
    expect(text).toContain('name="then" value="/projects?page=2"');
  });

  test.each(['/€', '/\u0001', '/a\nb', '/\u007f', '/ä', '//evil.test', '/\\evil.test', '/a\\b'])(
    'ignores the invalid target %j and leads to the first page',
    async (then) => {
      const answer = await signInTo(then);
      expect(answer.headers['location']).toBe('/?why=cookie');
      expect(await followed(`/?then=${encodeURIComponent(then)}`)).toBe('/projects');
    },
  );

  test.each([
    ['/ops', ['ops:read']],
    ['/projects', ['ops:read', 'domains:read']],
    ['/projects', ['admin']],
    ['/projects', ['pets:read']],
  ] as const)('leads to %s with a key for %j', async (path, scopes) => {
    const answer = await pages.signIn(await pages.keyWith(...scopes));
    expect(await followed(answer.headers['location'])).toBe(path);
  });

  it('from a second tab succeeds', async () => {
    await signIn();
    const again = await signIn({ csrf: '' }, { 'sec-fetch-site': 'same-origin' });
    expect(again.status).toBe(303);
  });

  test.each([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'https://evil.test' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'https://dash.test' }, 303],
    [{ origin: 'https://evil.test', 'sec-fetch-site': 'same-origin' }, 303],
  ])('with %j is answered %i', async (headers, status) => {
    expect((await signIn({}, { host: 'dash.test', ...headers })).status).toBe(status);
  });
});

describe('The link on an error page', () => {
  test.each([
    ['GET /projects', ['ops:read'], '/ops'],
    ['GET /nothing', ['ops:read'], '/ops'],
    ['GET /ops', ['domains:read'], '/projects'],
    ['GET /projects', ['pets:read'], '/docs'],
  ] as const)('for %s with a key for %j leads to %s', async (line, scopes, path) => {
    await pages.signIn(await pages.keyWith(...scopes));
    const { text } = await pages.show(line);
    expect(/<section class="card empty">.*?href="([^"]*)"/s.exec(text)?.[1]).toBe(path);
  });
});

it('A form that is too large is rejected with that reason', async () => {
  await signIn();
  await pages.show('GET /projects');
  const headers = { 'content-length': String(70_000) };
  const answer = await pages.show('POST /projects', { form: { name: 'x' }, headers });
  expect(answer).toMatchObject({ status: 413, text: expect.stringContaining('too large') });
  expect(answer.text).not.toContain('elsewhere');
});

it('A long host name in a mistyped URL still has its page', async () => {
  await signIn();
  const path = `/projects/00000000-0000-4000-8000-000000000000/domains/${'a.'.repeat(90)}example`;
  expect((await pages.show(`GET ${path}`)).text).not.toContain('Page not found');
});

test.each(['/€', '/\u0001', '/a\r\nb'])('A redirect to %j is rejected', (location) => {
  expect(() => redirectTo(location)).toThrow('invalid redirect address');
  expect(redirectTo('/projects?page=2').status).toBe(303);
});
