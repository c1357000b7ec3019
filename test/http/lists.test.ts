import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAGE_BYTES_MAX } from '../../src/http/pipeline/paging.ts';
import { keyRoutes } from '../../src/http/routes/keys.ts';
import { webhookRoutes } from '../../src/http/routes/webhooks.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startTestApi((service) => [
    ...publishingRoutes(service),
    ...keyRoutes(service, () => {}),
    ...webhookRoutes(service),
  ]);
  key = await api.keyWith('domains:read', 'domains:write', 'admin');
});
afterAll(() => api.close());

type Item = { readonly id: string; readonly hostname: string };

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });

/** A second later than the item before, so that the order of a list is known. */
async function made(line: string, json: object): Promise<Item> {
  api.clock.now = new Date(api.clock.now.getTime() + 1_000);
  const { status, body } = await call(line, json);
  expect(status).toBe(201);
  return body as Item;
}

async function aProject(more: object = {}): Promise<string> {
  const slug = `p-${randomUUID().slice(0, 8)}`;
  const { id } = await made('POST /v1/projects', { name: 'Docs', slug, plan: 'pro', ...more });
  await made(`POST /v1/projects/${id}/deploys`, {
    status: 'succeeded',
    upstream: 'http://127.0.0.1:9',
  });
  return id;
}

/** Every page of a list, following its links. */
async function pagesOf(path: string): Promise<readonly (readonly Item[])[]> {
  const pages: (readonly Item[])[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, headers, body } = await call(`GET ${next}`);
    expect(status).toBe(200);
    pages.push(body as readonly Item[]);
    next = /^<([^>]+)>; rel="next"$/.exec(headers['link'] ?? '')?.[1];
    expect(pages.length).toBeLessThan(50);
  }
  return pages;
}

const all = async (path: string) => (await pagesOf(path)).flat();
const names = (items: readonly Item[]) => items.map(({ hostname }) => hostname);

async function addDomains(projectId: string, hostnames: readonly string[]): Promise<void> {
  for (const hostname of hostnames) {
    await made(`POST /v1/projects/${projectId}/domains`, { hostname });
  }
}

describe('Every list', () => {
  const makers: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    domains: (path) => made(`POST ${path}`, { hostname: `${randomUUID()}.example.com` }),
    deploys: (path) =>
      made(`POST ${path}`, { status: 'failed', upstream: 'https://deploy.example.com/' }),
    webhooks: (path) => made(`POST ${path}`, { url: 'https://hooks.example.com/' }),
  };

  it.each(Object.entries(makers))(
    'of %s has pages that neither repeat nor skip',
    async (list, make) => {
      const path = `/v1/projects/${await aProject()}/${list}`;
      for (let count = 0; count < 5; count += 1) await make(path);
      const whole = await all(path);
      expect(whole.length).toBeGreaterThanOrEqual(5);
      const pages = await pagesOf(`${path}?limit=2`);
      expect(pages.flat()).toEqual(whole);
      expect(pages.every(({ length }) => length === 1 || length === 2)).toBe(true);
      expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    },
  );

  it.each(['/v1/projects', '/v1/keys', '/v1/domains', '/v1/webhooks'])(
    'at %s pages too',
    async (path) => {
      await addDomains(await aProject(), ['a.example.com', 'b.example.com', 'c.example.com']);
      for (const name of ['a', 'b', 'c']) {
        await made('POST /v1/keys', { name, scopes: ['pets:read'] });
        await made('POST /v1/webhooks', { url: `https://hooks.example.com/${name}` });
        await aProject();
      }
      const whole = await all(path);
      expect(whole.length).toBeGreaterThan(2);
      expect((await pagesOf(`${path}?limit=1`)).flat()).toEqual(whole);
    },
  );

  it('of events pages through every addition of a host name', async () => {
    const path = `/v1/projects/${await aProject()}/domains`;
    await made(`POST ${path}`, { hostname: 'docs.example.com' });
    await call(`DELETE ${path}/docs.example.com`);
    await made(`POST ${path}`, { hostname: 'docs.example.com' });
    const timeline = await all(`${path}/docs.example.com/timeline?limit=1`);
    expect(timeline).toMatchObject([
      { type: 'domain.added' },
      { type: 'domain.removed' },
      { type: 'domain.added' },
    ]);
  });

  it('of deliveries pages', async () => {
    const projectId = await aProject();
    const { id } = await made(`POST /v1/projects/${projectId}/webhooks`, {
      url: 'https://hooks.example.com/',
    });
    await addDomains(projectId, ['a.example.com', 'b.example.com', 'c.example.com']);
    const path = `/v1/projects/${projectId}/webhooks/${id}/deliveries`;
    await call(`POST /v1/projects/${projectId}/webhooks/${id}/replay`, { after: 0 });
    const whole = await all(path);
    expect(whole.length).toBeGreaterThanOrEqual(3);
    expect((await pagesOf(`${path}?limit=1`)).flat()).toEqual(whole);
  });

  it.each(['limit=0', 'limit=101', 'cursor=x', 'cursor=AQ', 'color=red'])(
    'rejects %s',
    async (query) => {
      for (const path of ['/v1/projects', '/v1/keys', '/v1/domains']) {
        const answer = await call(`GET ${path}?${query}`);
        expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'invalid_query') });
      }
    },
  );

  it('returns at most 100 items, and a Link, without a limit', async () => {
    const projectId = await aProject();
    const path = `/v1/projects/${projectId}/deploys`;
    await api.prisma.deploy.createMany({
      data: Array.from({ length: 120 }, () => ({
        id: randomUUID(),
        projectId,
        status: 'failed' as const,
        upstream: 'https://deploy.example.com/',
      })),
    });
    expect((await pagesOf(path)).map(({ length }) => length)).toEqual([100, 21]);
  });
});

describe('A page', () => {
  /** As metadata could be before it was limited to 8,192 bytes. */
  const oldMetadata = (bytes: number) =>
    Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`${at}`.padStart(40, 'k'), 'x'.repeat(bytes)]),
    );

  const bytesOf = async (path: string) => {
    const { headers } = await call(`HEAD ${path}`);
    return Number(headers['content-length']);
  };

  it('ends before the item that would make it larger than 1 MB', async () => {
    const projectId = await aProject();
    const path = `/v1/projects/${projectId}/domains`;
    const hostnames = Array.from({ length: 100 }, (_, at) => `d${at}.example.com`);
    await addDomains(projectId, hostnames);
    const data = { metadata: oldMetadata(500) };
    await api.prisma.domain.updateMany({ where: { projectId }, data });
    const pages = await pagesOf(path);
    expect(names(pages.flat())).toEqual(hostnames);
    expect(pages.map(({ length }) => length)).toEqual([34, 34, 32]);
    expect(await bytesOf(path)).toBeLessThan(PAGE_BYTES_MAX);
    expect(await bytesOf(path)).toBeGreaterThan(PAGE_BYTES_MAX * 0.9);
    expect(names(await all(`${path}?limit=7`))).toEqual(hostnames);
  });

  it('has at least one item, however large', async () => {
    const projectId = await aProject();
    const hostnames = ['a.example.com', 'b.example.com', 'c.example.com'];
    await addDomains(projectId, hostnames);
    const where = { projectId, hostname: 'b.example.com' };
    await api.prisma.domain.updateMany({ where, data: { metadata: oldMetadata(25_000) } });
    const path = `/v1/projects/${projectId}/domains`;
    const pages = await pagesOf(path);
    expect(pages.map(names)).toEqual(hostnames.map((hostname) => [hostname]));
  });

  it('continues where it was, although items are added and removed', async () => {
    const path = `/v1/projects/${await aProject()}/domains`;
    for (const letter of ['a', 'b', 'c', 'd']) {
      await made(`POST ${path}`, { hostname: `${letter}.example.com` });
    }
    const { headers, body } = await call(`GET ${path}?limit=2`);
    expect(names(body as Item[])).toEqual(['a.example.com', 'b.example.com']);
    await call(`DELETE ${path}/b.example.com`);
    await call(`DELETE ${path}/c.example.com`);
    await made(`POST ${path}`, { hostname: 'e.example.com' });
    const next = /^<([^>]+)>/.exec(headers['link'] ?? '')?.[1] ?? '';
    expect(names((await call(`GET ${next}`)).body as Item[])).toEqual([
      'd.example.com',
      'e.example.com',
    ]);
  });
});

describe('The filters of domains', () => {
  let projectId: string;
  let path: string;

  beforeAll(async () => {
    projectId = await aProject();
    path = `/v1/projects/${projectId}/domains`;
    await addDomains(projectId, [
      'docs.acme.com',
      'www.acme.com',
      'docs-1.other.com',
      'bücher.other.com',
    ]);
    await made(`POST ${path}`, { hostname: 'm1.acme.com', metadata: { tier: 'gold', site: 'a' } });
    await made(`POST ${path}`, { hostname: 'm2.acme.com', metadata: { tier: 'gold', site: 'b' } });
    await api.prisma.domain.updateMany({
      where: { projectId, hostname: 'www.acme.com' },
      data: { status: 'live' },
    });
  });

  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['status=live', ['www.acme.com']],
    ['status=failed', []],
    ['search=docs', ['docs.acme.com', 'docs-1.other.com']],
    ['search=%20DOCS.acme', ['docs.acme.com']],
    ['search=s-1', ['docs-1.other.com']],
    ['search=s_1', []],
    ['search=%25%25%25', []],
    ['search=b%C3%BCcher', ['xn--bcher-kva.other.com']],
    ['metadata[tier]=gold', ['m1.acme.com', 'm2.acme.com']],
    ['metadata[tier]=gold&metadata[site]=b', ['m2.acme.com']],
    ['metadata[tier]=silver', []],
    ['search=acme&status=pending&metadata[site]=a', ['m1.acme.com']],
  ];

  it.each(rows)('%s', async (query, expected) => {
    expect(names(await all(`${path}?${query}`))).toEqual(expected);
    expect(names((await pagesOf(`${path}?limit=1&${query}`)).flat())).toEqual(expected);
    expect(names(await all(`/v1/domains?${query}`))).toEqual(expect.arrayContaining([...expected]));
  });

  it.each([
    'status=gone',
    'search=',
    'search=ab',
    'search=%00%00%00',
    'metadata=gold',
    'metadata[]=gold',
    'metadata[tier]=',
    'metadata[tier]=gold&metadata[tier]=silver',
    'metadata[tier]=gold&metadata=gold',
    'search[x]=docs',
  ])('reject %s', async (query) => {
    const answer = await call(`GET ${path}?${query}`);
    expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'invalid_query') });
  });

  it('find a host name in every project that has it', async () => {
    const other = await aProject();
    await addDomains(other, ['docs.acme.com']);
    const found = (await all('/v1/domains?hostname=HTTPS://Docs.Acme.com/')) as unknown[];
    expect(found).toMatchObject([{ projectId }, { projectId: other }]);
    expect(await all('/v1/domains?hostname=co.uk')).toEqual([]);
  });
});

describe('GET /v1/projects', () => {
  it('finds projects by metadata', async () => {
    const id = await aProject({ metadata: { customer: 'c-4711' } });
    expect(await all('/v1/projects?metadata[customer]=c-4711')).toMatchObject([
      { id, metadata: { customer: 'c-4711' } },
    ]);
  });
});
