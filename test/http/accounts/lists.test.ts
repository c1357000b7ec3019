import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databases, errorBody } from '../support.ts';
import { type Accounts, startAccounts } from './fixture.ts';

describe.each(databases)('a list that is longer than a page on %s', (storage) => {
  let at: Accounts;
  let key: string;
  let project: string;
  let account: string;

  beforeAll(async () => {
    at = await startAccounts(storage);
    ({ id: account, key, project } = await at.account());
    for (const name of ['one', 'two', 'three', 'four', 'five']) {
      const own = { key };
      at.clock.now = new Date(at.clock.now.getTime() + 1_000);
      const post = (path: string, json: unknown, by: { key?: string } = own) =>
        at.call(`POST ${path}`, { json, ...by });
      await post(`/v1/projects/${project}/domains`, { hostname: `${name}.example.com` });
      await post('/v1/projects', { name, slug: name, plan: 'pro' });
      await post('/v1/keys', { name, scopes: ['domains:read'] });
      const url = `https://${name}.example/hook`;
      await post(`/v1/projects/${project}/webhooks`, { url });
      await post('/v1/webhooks', { url }, {});
      await post('/v1/accounts', { name }, {});
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      await at.call('POST /sign-in', { headers, raw: `${new URLSearchParams({ key })}` });
    }
  });
  afterAll(() => at?.close());

  type Row = Readonly<Record<string, unknown>>;

  /** Every page from this one on, by the links alone. */
  async function pagesFrom(target: string, by: { key?: string }): Promise<Row[][]> {
    const pages: Row[][] = [];
    for (let next: string | undefined = target; next !== undefined; ) {
      const { status, body, headers } = await at.call(`GET ${next}`, by);
      expect(status).toBe(200);
      pages.push(body as Row[]);
      next = /^<(.*)>; rel="next"$/.exec(headers['link'] ?? '')?.[1];
    }
    return pages;
  }

  const lists = [
    ['domains', () => `/v1/projects/${project}/domains`, 'account', 5],
    ['projects', () => '/v1/projects', 'account', 6],
    ['keys', () => '/v1/keys', 'account', 6],
    ['sessions', () => '/v1/sessions', 'account', 5],
    ['webhooks', () => `/v1/projects/${project}/webhooks`, 'account', 5],
    ["operators' webhooks", () => '/v1/webhooks', 'installation', 5],
    ['accounts', () => '/v1/accounts', 'installation', 7],
    ['all projects', () => '/v1/projects', 'installation', 6],
    ['all keys', () => '/v1/keys', 'installation', 7],
  ] as const;

  it.each(lists)('gives %s in pages, each with the way to the next one', async (...row) => {
    const [, path, whose, count] = row;
    const by = whose === 'account' ? { key } : {};
    const whole = await at.call(`GET ${path()}`, by);
    expect(whole.headers['link']).toBeUndefined();
    expect(whole.body).toHaveLength(count);
    const pages = await pagesFrom(`${path()}?limit=2`, by);
    expect(pages.map(({ length }) => length)).toEqual(
      Array.from({ length: Math.ceil(count / 2) }, (_, n) => Math.min(2, count - 2 * n)),
    );
    // By what is theirs for good: where the workers run as well, domains are checked meanwhile.
    const nameOf = ({ id, hostname }: Row) => id ?? hostname;
    expect(pages.flat().map(nameOf)).toEqual((whole.body as Row[]).map(nameOf));
    expect(await pagesFrom(`${path()}?limit=${count}`, by)).toHaveLength(1);
  });

  it.each(lists)('refuses for %s what is no page of it', async (_, path, whose) => {
    const by = whose === 'account' ? { key } : {};
    const strange = Buffer.from('\x01\x00\x01\x90\x00\x00\x00\x00 strange').toString('base64url');
    for (const query of ['limit=0', 'limit=1001', 'cursor=', 'cursor=AQ', `cursor=${strange}`]) {
      const { body } = await at.call(`GET ${path()}?${query}`, by);
      expect(body).toEqual(errorBody(400, 'invalid_query'));
    }
  });

  it('keeps its filters from page to page', async () => {
    const path = `/v1/projects/${project}/domains`;
    const names = (pages: readonly (readonly Row[])[]) =>
      pages.map((page) => page.map((domain) => domain['hostname']));
    const filtered = await pagesFrom(`${path}?hostname=E.ex&status=pending&limit=2`, { key });
    expect(names(filtered)).toEqual([
      ['one.example.com', 'three.example.com'],
      ['five.example.com'],
    ]);
    expect(names(await pagesFrom(`${path}?hostname=F&limit=9`, { key }))).toEqual([
      ['four.example.com', 'five.example.com'],
    ]);
    expect(names(await pagesFrom(`${path}?status=live`, { key }))).toEqual([[]]);
    const { body } = await at.call(`GET ${path}?status=asleep`, { key });
    expect(body).toEqual(errorBody(400, 'invalid_query'));
    const found = await pagesFrom('/v1/projects?hostname=two.example.com&limit=1', { key });
    expect(found.flat()).toMatchObject([{ id: project }]);
  });

  it('gives the newest sessions first, whichever was used last', async () => {
    const pages = await pagesFrom('/v1/sessions?limit=2', { key });
    const times = pages.flat().map(({ createdAt }) => createdAt as string);
    expect(times).toEqual(times.toSorted().reverse());
    expect(new Set(times).size).toBe(5);
  });

  it('misses nothing where the last of a page is removed meanwhile', async () => {
    const other = await at.project(key);
    const path = `/v1/projects/${other}/domains`;
    for (const name of ['a', 'b', 'c']) {
      at.clock.now = new Date(at.clock.now.getTime() + 1_000);
      await at.call(`POST ${path}`, { key, json: { hostname: `${name}.example.org` } });
    }
    const first = await at.call(`GET ${path}?limit=2`, { key });
    await at.call(`DELETE ${path}/b.example.org`, { key });
    const next = /<(.*)>/.exec(first.headers['link'] ?? '')?.[1] ?? '';
    expect((await at.call(`GET ${next}`, { key })).body).toMatchObject([
      { hostname: 'c.example.org' },
    ]);
  });

  it('shows an account nothing of another one, whatever its cursor says', async () => {
    const other = await at.account();
    const { headers } = await at.call('GET /v1/projects?limit=1', { key });
    const next = /<(.*)>/.exec(headers['link'] ?? '')?.[1] ?? '';
    const seen = (await at.call(`GET ${next}`, { key: other.key })).body as Row[];
    expect(seen.every(({ accountId }) => accountId === other.id)).toBe(true);
    expect(other.id).not.toBe(account);
  });
});
