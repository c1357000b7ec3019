/** Which cookie a browser is given: for HTTPS alone, but over HTTP on its own machine, where Safari keeps no such cookie. */
import { describe, expect, it, test } from 'vitest';
import { endedCookie, sessionCookie, tokenIn } from '../../src/dashboard/cookies.ts';

const token = 'T'.repeat(43);
const secure = `__Host-signpost=${token}; Secure; Path=/; HttpOnly; SameSite=Lax; Max-Age=60`;
const plain = `signpost=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=60`;

describe('over HTTP on the own machine', () => {
  test.each(['127.0.0.1:3000', 'localhost:3000', '[::1]:3000', 'localhost', '127.8.9.1', '127.1'])(
    '%s: the cookie has a plain name and no Secure',
    (host) => {
      const headers = { host, origin: `http://${host}` };
      expect(sessionCookie(headers, token, 60)).toBe(plain);
      const cookie = `theme=dark; signpost=${token}`;
      expect(tokenIn({ host, cookie })).toBe(token);
      expect(endedCookie({ host, cookie })).toMatch(/^signpost=; (?!Secure)/);
    },
  );

  it('also behind a proxy that says HTTP', () => {
    const host = { host: 'localhost:8080', 'x-forwarded-proto': 'http', 'x-forwarded-for': '::1' };
    expect(sessionCookie({ ...host, origin: 'http://localhost:8080' }, token, 60)).toBe(plain);
  });

  it('a session of the secure cookie counts, and goes first', () => {
    const cookie = `signpost=other; __Host-signpost=${token}`;
    expect(tokenIn({ host: 'localhost', cookie })).toBe(token);
    expect(endedCookie({ host: 'localhost', cookie })).toContain('__Host-signpost=; Secure');
  });
});

describe('everywhere else the cookie is __Host- and Secure:', () => {
  const local = '127.0.0.1:3000';
  test.each([
    ['a public name', { host: 'signpost.example', origin: 'http://signpost.example' }],
    ['an address of the network', { host: '192.168.1.5:3000', origin: 'http://192.168.1.5:3000' }],
    ['a name that looks like it', { host: 'localhost.evil.test', origin: 'http://localhost' }],
    ['an address that looks like it', { host: '127.0.0.1.evil.test', origin: 'http://localhost' }],
    ['HTTPS on this machine', { host: local, origin: `https://${local}` }],
    [
      'a proxy that ended TLS',
      { host: local, origin: `http://${local}`, 'x-forwarded-proto': 'https' },
    ],
    ['two proxies', { host: local, origin: `http://${local}`, 'x-forwarded-proto': 'https, http' }],
    [
      'a proxy that does not say',
      { host: local, origin: `http://${local}`, 'x-forwarded-for': '::1' },
    ],
    ['a proxy that changes the host', { host: local, origin: 'https://signpost.example' }],
    ['a browser that does not say', { host: local }],
    ['a browser that hides it', { host: local, origin: 'null' }],
    ['no host', {}],
  ])('%s', (_what, headers) => {
    expect(sessionCookie(headers, token, 60)).toBe(secure);
  });

  it.each([
    ['a public name', { host: 'signpost.example' }],
    ['a proxy that ended TLS', { host: local, 'x-forwarded-proto': 'https' }],
  ])('%s: a plain cookie, which a sister host can set, is none', (_what, headers) => {
    expect(tokenIn({ ...headers, cookie: `signpost=${token}` })).toBeUndefined();
    expect(endedCookie({ ...headers, cookie: `signpost=${token}` })).toContain('Secure');
  });
});
