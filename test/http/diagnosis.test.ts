import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import type { DomainStatus } from '../../src/db/generated/enums.ts';
import type { ExaminedName } from '../../src/dns/examine.ts';
import type { Observer } from '../../src/dns/observe/observe.ts';
import { diagnosisRoute } from '../../src/http/routes/diagnosis.ts';
import type { Service } from '../../src/service/service.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';
const asked: ExaminedName[] = [];
const reached: (readonly [hostname: string, domainId: string | null])[] = [];
/** The next checks wait for this. */
let door: Promise<void> = Promise.resolve();
let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await startTestApi((service) => {
    const members: Partial<Service> = {
      caaAuthorities: async () => [ca],
      examineReach: async (hostname, domainId) => {
        reached.push([hostname, domainId]);
        return { addresses: [], authorities: [] };
      },
    };
    const observe: Observer['observe'] = async ({ hostname, target: wanted }) => {
      asked.push({ hostname, target: wanted });
      await door;
      return observationOf(hostname);
    };
    Object.assign(service, members);
    Object.assign(service.observer, { observe });
    return [diagnosisRoute(service)];
  });
  key = await test.keyWith('domains:read');
});
afterAll(() => test.close());
beforeEach(() => {
  asked.splice(0);
  reached.splice(0);
});

const nxdomain = { kind: 'nxdomain' } as const;

const ca = { issuerDomains: ['letsencrypt.org'], accountUri: null, method: 'http-01' } as const;

/** The name has no records, and one server does not answer. */
function observationOf(hostname: string): Observation {
  const server = { server: 'ns1.shop.test', address: '192.0.2.53', mx: null, txt: null } as const;
  const timeout = { kind: 'timeout' } as const;
  return {
    hostname,
    at: '2026-11-20T12:00:00.000Z',
    view: 'authoritative',
    whyRecursive: null,
    delegation: {
      kind: 'delegated',
      zone: 'shop.test',
      parent: 'test',
      atParent: ['ns1.shop.test'],
      atZone: null,
      ttlSeconds: 3_600,
    },
    servers: [
      {
        ...server,
        state: 'answers',
        aa: true,
        rcode: 3,
        cname: nxdomain,
        a: nxdomain,
        aaaa: nxdomain,
        soa: { serial: 4_294_967_295, negativeTtlSeconds: 300 },
        rttMs: 1.3,
      },
      {
        ...server,
        state: 'timeout',
        aa: null,
        rcode: null,
        cname: timeout,
        a: timeout,
        aaaa: timeout,
        soa: null,
        rttMs: null,
      },
    ],
    world: [
      {
        server: '192.0.2.1',
        cname: { kind: 'records', records: ['\\027[31m.example'], ttlSeconds: 60 },
        a: { kind: 'servfail' },
        aaaa: nxdomain,
        negativeTtlSeconds: 12,
        authenticated: false,
        answersUnchecked: null,
        errors: [{ code: 22, text: 'nobody "there"' }],
        rttMs: 12,
      },
    ],
    nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    caa: [
      {
        name: 'shop.test',
        answer: {
          kind: 'records',
          records: [{ flags: 0, tag: 'issue', value: 'ca.example' }],
          ttlSeconds: 60,
        },
      },
    ],
    targetAddresses: [],
    cost: { questions: 11, bytes: 1_630, ms: 38 },
  };
}

const get = (hostname: string, query = `?target=${target}`) =>
  callApi(test.api, `GET /v1/diagnosis/${encodeURIComponent(hostname)}${query}`, { key });

describe('GET /v1/diagnosis/{hostname}', () => {
  it('returns the verdict, the record, the worded findings and all observations', async () => {
    const { status, body } = await get('docs.shop.test');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      hostname: 'docs.shop.test',
      unicodeHostname: 'docs.shop.test',
      target,
      verdict: 'wrong',
      record: { type: 'CNAME', name: 'docs', value: target, ttl: 3_600n },
      provider: null,
      observation: {
        view: 'authoritative',
        servers: [{ state: 'answers', rttMs: 1.3 }, { state: 'timeout' }],
        world: [
          { cname: { records: ['\\027[31m.example'] }, errors: [{ text: 'nobody "there"' }] },
        ],
        cost: { questions: 11n, bytes: 1_630n, ms: 38n },
      },
    });
    const { findings } = body as { findings: readonly { code: string; action: string }[] };
    expect(findings.map(({ code }) => code)).toContain('record_missing');
    expect(findings[0]?.action).toContain(target);
  });

  it('normalizes the name to its DNS form', async () => {
    const { body } = await get('https://BÜCHER.shop.test/a?b', `?target=https://${target}./`);
    expect(asked).toEqual([{ hostname: 'xn--bcher-kva.shop.test', target }]);
    expect(body).toMatchObject({ unicodeHostname: 'bücher.shop.test' });
  });

  it('is neither cacheable nor conditional', async () => {
    const headers = { 'if-none-match': '*' };
    const path = `/v1/diagnosis/docs.shop.test?target=${target}`;
    for (const method of ['GET', 'HEAD']) {
      const answer = await callApi(test.api, `${method} ${path}`, { key, headers });
      expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(answer.headers).not.toHaveProperty('etag');
    }
    expect(asked).toHaveLength(2);
  });

  it('queries addresses and CAs only with reach=true', async () => {
    const without = await get('docs.shop.test');
    expect(without.body).not.toHaveProperty('reach');
    expect(reached).toEqual([]);
    const { body } = await get('docs.shop.test', `?target=${target}&reach=true`);
    expect(reached).toEqual([['docs.shop.test', null]]);
    expect(body).toMatchObject({ reach: { addresses: [], authorities: [] } });
  });

  it('requires the scope domains:read', async () => {
    const pets = await test.keyWith('pets:read');
    const answer = await callApi(test.api, 'GET /v1/diagnosis/docs.shop.test', { key: pets });
    expect([answer.status, asked]).toEqual([403, []]);
  });
});

describe('GET /v1/diagnosis/{hostname} rejects, before any query,', () => {
  const refused: readonly (readonly [hostname: string, query: string, code: string])[] = [
    ['not a host name', '', 'invalid_hostname'],
    ['*.shop.test', '', 'wildcard_unsupported'],
    ['docs.edge.signpost.test', '', 'platform_hostname'],
    ['co.uk', '', 'public_suffix'],
    ['nobody-has-it.shop.test', '', 'invalid_query'],
    ['docs.shop.test', '?target=', 'invalid_query'],
    ['docs.shop.test', '?target=DOCS.shop.test.', 'invalid_query'],
    ['docs.shop.test', '?target=co.uk', 'invalid_query'],
    ['docs.shop.test', '?target=192.0.2.1', 'invalid_query'],
    ['docs.shop.test', '?target=[::1]', 'invalid_query'],
    ['docs.shop.test', '?target=edge', 'invalid_query'],
    ['docs.shop.test', '?target=a..test', 'invalid_query'],
    ['docs.shop.test', '?target=a%1b[31m.test', 'invalid_query'],
    ['docs.shop.test', `?target=${'a'.repeat(64)}.test`, 'invalid_query'],
    ['docs.shop.test', `?target=${'a.'.repeat(130)}test`, 'invalid_query'],
    ['docs.shop.test', `?target=${'a'.repeat(2_049)}`, 'invalid_query'],
    ['docs.shop.test', `?target=${target}&target=${target}`, 'invalid_query'],
    ['docs.shop.test', `?to=${target}`, 'invalid_query'],
  ];
  it.each(refused)('%s %s: %s', async (hostname, query, code) => {
    const { status, body, text } = await get(hostname, query);
    expect([status, body, asked]).toEqual([400, errorBody(400, code), []]);
    expect(text).not.toContain('\u001b');
  });

  it('explains why a target can never be right', async () => {
    const { body } = await get('docs.shop.test', '?target=docs.shop.test');
    expect(body).toMatchObject({ message: expect.stringContaining('is the host name itself') });
  });

  it('does not mention adding a domain to a caller who only checks', async () => {
    const { text } = await get('*.shop.test');
    expect(text).not.toMatch(/\badd/);
  });

  it('explains that a target is required, and why', async () => {
    const { body } = await get('nobody-has-it.shop.test', '');
    const message = 'target: is required because no project has nobody-has-it.shop.test attached';
    expect(body).toEqual(errorBody(400, 'invalid_query', message));
  });
});

describe('A diagnosis without a target', () => {
  async function attach(
    hostname: string,
    wanted: string,
    { status = 'pending', day = 1, removed = false }: Attached = {},
  ) {
    const { prisma } = test;
    const id = crypto.randomUUID();
    await prisma.project.create({ data: { id, name: 'Docs', slug: id, plan: 'pro' } });
    const at = new Date(Date.UTC(2026, 10, day));
    const removedAt = removed ? at : null;
    const times = { addedAt: at, pendingSince: at, removedAt };
    await prisma.domain.create({
      data: { id, projectId: id, hostname, target: wanted, status, ...times },
    });
  }
  type Attached = {
    readonly status?: DomainStatus;
    readonly day?: number;
    readonly removed?: boolean;
  };
  const targetOf = async (hostname: string) => {
    await get(hostname, '');
    return asked.map((one) => one.target);
  };

  it('uses the domain of the only project that has it', async () => {
    await attach('one.shop.test', 'one.edge.test');
    expect(await targetOf('ONE.shop.test')).toEqual(['one.edge.test']);
  });

  it('uses the domain of the project that holds the name, even if another added it later', async () => {
    await attach('held.shop.test', 'holder.edge.test', { status: 'drifted', day: 1 });
    await attach('held.shop.test', 'later.edge.test', { status: 'failed', day: 2 });
    expect(await targetOf('held.shop.test')).toEqual(['holder.edge.test']);
  });

  it('uses the domain that was added last when no project holds the name', async () => {
    await attach('claimed.shop.test', 'later.edge.test', { day: 2 });
    await attach('claimed.shop.test', 'first.edge.test', { day: 1, status: 'failed' });
    await attach('claimed.shop.test', 'gone.edge.test', { day: 3, removed: true });
    expect(await targetOf('claimed.shop.test')).toEqual(['later.edge.test']);
  });

  it('finds no target once the domain is removed', async () => {
    await attach('removed.shop.test', 'gone.edge.test', { status: 'live', removed: true });
    expect(await targetOf('removed.shop.test')).toEqual([]);
  });
});

describe('The limit of ten diagnoses at once', () => {
  it('rejects the eleventh with Retry-After; the next one succeeds', async () => {
    let open = () => {};
    door = new Promise((resolve) => {
      open = resolve;
    });
    const checkFeed = Array.from({ length: 10 }, () => get('docs.shop.test'));
    await expect.poll(() => asked.length).toBe(10);
    const { status, headers, body } = await get('docs.shop.test');
    expect([status, body]).toEqual([503, errorBody(503, 'too_many_diagnoses')]);
    expect(headers['retry-after']).toBe('2');
    open();
    expect(new Set((await Promise.all(checkFeed)).map((one) => one.status))).toEqual(
      new Set([200]),
    );
    expect((await get('docs.shop.test')).status).toBe(200);
  });

  it('frees the place of a diagnosis that fails', async () => {
    door = Promise.reject(new Error('the observer is broken'));
    door.catch(() => {});
    for (let time = 0; time < 11; time += 1) expect((await get('docs.shop.test')).status).toBe(500);
    door = Promise.resolve();
    expect((await get('docs.shop.test')).status).toBe(200);
  });
});
