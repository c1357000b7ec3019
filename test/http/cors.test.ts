import { describe, expect, test } from 'vitest';
import { createCors } from '../../src/http/pipeline/cors.ts';

const shop = 'https://shop.example';
const cors = createCors([shop, 'http://localhost:5173']);
const wish = { 'access-control-request-method': 'POST' };

describe('pages of other origins', () => {
  const strangers: readonly (readonly [what: string, origin: string | undefined])[] = [
    ['another origin', 'https://evil.example'],
    ['another scheme', 'http://shop.example'],
    ['another port', 'https://shop.example:8443'],
    ['a longer name', 'https://shop.example.evil.example'],
    ['upper case', 'https://SHOP.example'],
    ['a sandboxed page', 'null'],
    ['no origin', undefined],
    ['two origins', `${shop}, ${shop}`],
  ];
  test.each(strangers)('%s may not read an answer', (_what, origin) => {
    expect(cors.answerHeaders({ origin })).toEqual({
      vary: 'Authorization, Signpost-Account, Origin',
    });
    const preflight = cors.preflightHeaders({ origin, ...wish }, 'GET');
    expect(preflight).toEqual({ vary: 'Authorization, Signpost-Account, Origin' });
  });

  test('a listed one may, and sees the headers that matter; cookies are never asked for', () => {
    const headers = cors.answerHeaders({ origin: shop });
    expect(headers['access-control-allow-origin']).toBe(shop);
    expect(headers['access-control-expose-headers']).toMatch(/ETag.*Link.*RateLimit/);
    expect(headers['vary']).toContain('Origin');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('its preflight is told what may be sent', () => {
    const headers = cors.preflightHeaders({ origin: shop, ...wish }, 'GET, POST, HEAD, OPTIONS');
    expect(headers).toMatchObject({
      'access-control-allow-origin': shop,
      'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS',
      'access-control-max-age': '7200',
    });
    expect(headers['access-control-allow-headers']).toMatch(
      /Authorization.*Idempotency-Key.*If-Match/,
    );
  });

  test('an OPTIONS request that is no preflight is an ordinary one', () => {
    expect(cors.preflightHeaders({ origin: shop }, 'GET')).not.toHaveProperty(
      'access-control-allow-methods',
    );
  });

  test('without a list, nothing is said about it', () => {
    const off = createCors([]);
    expect(off.answerHeaders({ origin: shop })).toEqual({});
    expect(off.preflightHeaders({ origin: shop, ...wish }, 'GET')).toEqual({});
  });
});
