import { describe, expect, test } from 'vitest';
import { buildDocument } from '../../src/http/openapi/document.ts';
import { verbs } from '../../src/http/openapi/model.ts';
import { createCors } from '../../src/http/pipeline/api.ts';
import { everyRoute } from '../support/every-route.ts';

/** Of all responses in the OpenAPI document, in lower case. */
function documentedHeaders(): string[] {
  const { paths, components } = buildDocument(everyRoute(), {
    baseUrl: undefined,
    stagingUrl: undefined,
  });
  const operations = Object.values(paths).flatMap((item) =>
    verbs.flatMap((verb) => item[verb] ?? []),
  );
  const responses = operations.flatMap(({ responses }) => Object.values(responses));
  const own = [...responses, ...Object.values(components.responses)].flatMap((one) =>
    'headers' in one ? Object.keys(one.headers) : [],
  );
  expect(own).toContain('Sunset');
  return [...new Set(own)].map((name) => name.toLowerCase());
}

const shop = 'https://shop.example';
const cors = createCors([shop, 'http://localhost:5173']);
const wish = { 'access-control-request-method': 'POST' };

describe('CORS', () => {
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
  test.each(strangers)('does not let %s read a response', (_what, origin) => {
    expect(cors.answerHeaders({ origin })).toEqual({
      vary: 'Authorization, Signpost-Account, Origin',
    });
    const preflight = cors.preflightHeaders({ origin, ...wish }, 'GET');
    expect(preflight).toEqual({ vary: 'Authorization, Signpost-Account, Origin' });
  });

  test('lets a listed origin read responses and the documented headers, without cookies', () => {
    const headers = cors.answerHeaders({ origin: shop });
    expect(headers['access-control-allow-origin']).toBe(shop);
    const exposed = headers['access-control-expose-headers']?.split(', ') ?? [];
    expect(exposed.map((name) => name.toLowerCase())).toEqual(
      expect.arrayContaining(documentedHeaders()),
    );
    expect(headers['vary']).toContain('Origin');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('answers a preflight with the allowed methods and headers', () => {
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

  test('treats an OPTIONS request that is not a preflight like any other', () => {
    expect(cors.preflightHeaders({ origin: shop }, 'GET')).not.toHaveProperty(
      'access-control-allow-methods',
    );
  });

  test('sends no header when no origins are configured', () => {
    const off = createCors([]);
    expect(off.answerHeaders({ origin: shop })).toEqual({});
    expect(off.preflightHeaders({ origin: shop, ...wish }, 'GET')).toEqual({});
  });
});
