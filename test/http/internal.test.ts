import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import type { DomainStatus } from '../../src/db/generated/enums.ts';
import { tlsAskRoute } from '../../src/http/routes/internal.ts';
import type { Service } from '../../src/service/service.ts';
import { noon } from '../support/builders.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let test: TestApi;
/** Number of database queries. */
let asked = 0;

beforeAll(async () => {
  test = await startTestApi((service) => [tlsAskRoute(counting(service))]);
  for (const status of ['pending', 'verified', 'live', 'drifted', 'failed'] as const) {
    await attach(test.prisma, `${status}.shop.test`, status);
  }
  await attach(test.prisma, 'xn--mnchen-3ya.shop.test', 'live');
  await attach(test.prisma, 'removed.shop.test', 'live', noon);
});
afterAll(() => test.close());

function counting(service: Service): Service {
  const prisma = service.database.prisma.$extends({
    query: {
      $allOperations({ args, query }) {
        asked += 1;
        return query(args);
      },
    },
  }) as unknown as PrismaClient; // the same calls
  return { ...service, database: { ...service.database, prisma } };
}

async function attach(
  prisma: PrismaClient,
  hostname: string,
  status: DomainStatus,
  removedAt: Date | null = null,
): Promise<void> {
  const project = { id: randomUUID(), name: 'P', slug: randomUUID() };
  const times = { addedAt: noon, pendingSince: noon, removedAt };
  const domain = { id: randomUUID(), hostname, target: 'x.edge.signpost.test', status, ...times };
  await prisma.project.create({ data: { ...project, domains: { create: domain } } });
}

const ask = (domain: string, headers: Record<string, string> = {}) =>
  callApi(test.api, `GET /internal/tls/ask?domain=${encodeURIComponent(domain)}`, { headers });

describe('GET /internal/tls/ask', () => {
  const yes: readonly (readonly [string, string])[] = [
    ['verified.shop.test', 'verified.shop.test'],
    ['live.shop.test', 'live.shop.test'],
    ['drifted.shop.test', 'drifted.shop.test'],
    ['LIVE.Shop.Test.', 'live.shop.test'],
    ['münchen.shop.test', 'xn--mnchen-3ya.shop.test'],
    ['XN--MNCHEN-3YA.shop.test', 'xn--mnchen-3ya.shop.test'],
  ];
  it.each(yes)('approves %s', async (domain, hostname) => {
    const answer = await ask(domain);
    expect(answer).toMatchObject({ status: 200, body: { hostname } });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['etag']).toBeUndefined();
  });

  const no: readonly (readonly [string, number, string])[] = [
    ['pending.shop.test', 404, 'domain_not_found'],
    ['failed.shop.test', 404, 'domain_not_found'],
    ['removed.shop.test', 404, 'domain_not_found'],
    ['nobody.shop.test', 404, 'domain_not_found'],
    ['*.shop.test', 400, 'wildcard_unsupported'],
    ['co.uk', 400, 'public_suffix'],
    ['x.edge.signpost.test', 400, 'platform_hostname'],
    ['192.0.2.1', 400, 'invalid_hostname'],
    ['a b', 400, 'invalid_hostname'],
    ["live.shop.test' OR 1=1", 400, 'invalid_hostname'],
    ['', 400, 'invalid_hostname'],
  ];
  it.each(no)('rejects “%s” with %d %s', async (domain, status, code) => {
    const answer = await ask(domain);
    expect(answer).toMatchObject({ status, body: errorBody(status, code) });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('requires exactly one domain', async () => {
    const path = 'GET /internal/tls/ask';
    for (const line of [path, `${path}?domain=a.test&domain=b.test`, `${path}?name=a.test`]) {
      expect((await callApi(test.api, line)).body).toEqual(errorBody(400, 'invalid_query'));
    }
  });

  it('costs one query, and none for an outsider', async () => {
    asked = 0;
    await ask('live.shop.test');
    expect(asked).toBe(1);
    const outside = await ask('live.shop.test', { 'x-forwarded-for': '8.8.8.8' });
    expect(outside.body).toEqual(errorBody(404, 'not_found'));
    expect(asked).toBe(1);
  });
});
