/** An apex and its `www` in one step, long lists, and what can be downloaded. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { callApi } from '../http/support.ts';
import { type Pages, startPages } from './support/pages.ts';

let pages: Pages;
let key: string;
beforeAll(async () => {
  pages = await startPages();
  key = await pages.keyWith('domains:read', 'domains:write');
  await pages.signIn(key);
  await pages.show('GET /projects');
});
afterAll(() => pages?.close());

let count = 0;

/** The path of a project that can have domains, with the page's token read. */
async function aProject(): Promise<string> {
  count += 1;
  const body = { name: `Shop ${count}`, slug: `pairs-${count}`, plan: 'pro' };
  const made = await callApi(pages.api, 'POST /v1/projects', { key, json: body });
  const { id } = made.body as { id: string };
  const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' };
  await callApi(pages.api, `POST /v1/projects/${id}/deploys`, { key, json: deploy });
  await pages.show(`GET /projects/${id}/domains`);
  return `/projects/${id}`;
}

const settingsOf = async (project: string) =>
  (await callApi(pages.api, `GET /v1${project}/domain-settings`, { key })).body;
const namesOf = async (project: string) => {
  const { body } = await callApi(pages.api, `GET /v1${project}/domains`, { key });
  return (body as readonly { hostname: string }[]).map(({ hostname }) => hostname).sort();
};

describe('Adding an apex or its www', () => {
  it.each([
    ['shop-one.test', 'www.shop-one.test'],
    ['WWW.shop-two.test', 'shop-two.test'],
  ])('asks about the other name before anything is added: %s', async (hostname, other) => {
    const project = await aProject();
    const answer = await pages.show(`POST ${project}/domains`, { form: { hostname } });
    const name = hostname.toLowerCase();
    expect(answer.headers['location']).toBe(`${project}/add?hostname=${name}`);
    expect(await namesOf(project)).toEqual([]);
    const { text } = await pages.show(`GET ${answer.headers['location']}`);
    expect(text).toContain(`${name} is the main address`);
    expect(text).toContain(`${other} is the main address`);
    expect(text).toContain(`Only ${name}`);
  });

  it.each([
    ['main', 'shop-three.test', 'www.shop-three.test'],
    ['redirects', 'www.shop-four.test', 'shop-four.test'],
  ])('adds both, and the redirect from one to the other: %s', async (www, main, from) => {
    const project = await aProject();
    const hostname = www === 'main' ? main : from;
    const answer = await pages.show(`POST ${project}/add`, { form: { hostname, www } });
    expect(answer.headers['location']).toBe(`${project}/domains/${main}`);
    expect(await namesOf(project)).toEqual([main, from].sort());
    expect(await settingsOf(project)).toEqual({
      domains: { primary: main, redirects: [{ from, to: main, status: 301n }] },
    });
    const { text } = await pages.show(`GET ${project}/domains/${main}`);
    expect(text).toContain(`>${from.replaceAll('.', '.<wbr>')}</a></h2>`);
  });

  it('adds only the typed name if that is wanted', async () => {
    const project = await aProject();
    const form = { hostname: 'shop-five.test', www: 'only' };
    const answer = await pages.show(`POST ${project}/add`, { form });
    expect(answer.headers['location']).toBe(`${project}/domains/shop-five.test`);
    expect(await namesOf(project)).toEqual(['shop-five.test']);
    expect(await settingsOf(project)).toEqual({ domains: { primary: null, redirects: [] } });
  });

  it('can be sent twice, and keeps another primary domain', async () => {
    const project = await aProject();
    const first = { hostname: 'shop-six.test', www: 'only' };
    await pages.show(`POST ${project}/add`, { form: first });
    await pages.show(`POST ${project}/settings/primary`, { form: { primary: 'shop-six.test' } });
    const form = { hostname: 'shop-seven.test', www: 'main' };
    for (const _ of [1, 2]) {
      expect((await pages.show(`POST ${project}/add`, { form })).status).toBe(303);
    }
    expect(await settingsOf(project)).toMatchObject({
      domains: { primary: 'shop-six.test', redirects: [{ from: 'www.shop-seven.test' }] },
    });
  });

  it('also asks if the other name is attached already, which stays', async () => {
    const project = await aProject();
    const form = { hostname: 'www.shop-eight.test', www: 'only' };
    await pages.show(`POST ${project}/add`, { form });
    const answer = await pages.show(`POST ${project}/domains`, {
      form: { hostname: 'shop-eight.test' },
    });
    expect(answer.headers['location']).toBe(`${project}/add?hostname=shop-eight.test`);
    const pair = { hostname: 'shop-eight.test', www: 'main' };
    expect((await pages.show(`POST ${project}/add`, { form: pair })).status).toBe(303);
    expect(await settingsOf(project)).toMatchObject({
      domains: { redirects: [{ from: 'www.shop-eight.test', to: 'shop-eight.test' }] },
    });
  });

  describe('keeps a name in use as the main address', () => {
    /** Of a project with `www` attached; `make` puts it into use. */
    async function withWww(zone: string, make: (project: string, www: string) => Promise<unknown>) {
      const project = await aProject();
      const www = `www.${zone}`;
      await pages.show(`POST ${project}/add`, { form: { hostname: www, www: 'only' } });
      await make(project, www);
      return project;
    }

    const uses = {
      live: (_: string, hostname: string) =>
        pages.prisma.domain.updateMany({ where: { hostname }, data: { status: 'live' } }),
      primary: (project: string, primary: string) =>
        pages.show(`POST ${project}/settings/primary`, { form: { primary } }),
    } as const;

    it.each(['live', 'primary'] as const)('that is %s', async (use) => {
      const zone = `shop-use-${use}.test`;
      const project = await withWww(zone, uses[use]);
      const { text } = await pages.show(`GET ${project}/add?hostname=${zone}`);
      expect(text).toContain(`www.${zone} stays the main address`);
      expect(text).not.toContain(`>${zone} is the main address`);
      // A form from before it was in use asks again, and changes nothing.
      const old = { hostname: zone, www: 'main' };
      expect((await pages.show(`POST ${project}/add`, { form: old })).status).toBe(200);
      expect(await namesOf(project)).toEqual([`www.${zone}`]);
      await pages.show(`POST ${project}/add`, { form: { hostname: zone, www: 'redirects' } });
      expect(await settingsOf(project)).toMatchObject({
        domains: { redirects: [{ from: zone, to: `www.${zone}` }] },
      });
    });

    it('does not ask if it redirects elsewhere, which stays', async () => {
      const redirect = async (project: string, from: string) => {
        const to = 'other.shop-else.test';
        await pages.show(`POST ${project}/domains`, { form: { hostname: to } });
        const form = { from, to, status: '301' };
        return pages.show(`POST ${project}/settings/redirects`, { form });
      };
      const project = await withWww('shop-else.test', redirect);
      const before = await settingsOf(project);
      const form = { hostname: 'shop-else.test' };
      const answer = await pages.show(`POST ${project}/domains`, { form });
      expect(answer.headers['location']).toBe(`${project}/domains/shop-else.test`);
      expect(await settingsOf(project)).toEqual(before);
    });
  });

  it('does not ask about a subdomain', async () => {
    const project = await aProject();
    const form = { hostname: 'www.docs.shop-nine.test' };
    const answer = await pages.show(`POST ${project}/domains`, { form });
    expect(answer.headers['location']).toBe(`${project}/domains/www.docs.shop-nine.test`);
  });

  it.each(['GET', 'POST'])('shows an error for a name that is not one: %s', async (method) => {
    const project = await aProject();
    const answer =
      method === 'GET'
        ? await pages.show(`GET ${project}/add?hostname=%3Cb%3E`)
        : await pages.show(`POST ${project}/add`, { form: { hostname: '<b>', www: 'main' } });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain('<b>&');
    expect(await namesOf(project)).toEqual([]);
  });
});

describe('A list of domains', () => {
  const rowsIn = (text: string) => (text.match(/id="domain-/g) ?? []).length;

  async function withDomains(many: number): Promise<string> {
    const project = await aProject();
    const at = pages.clock.now;
    const [, , projectId = ''] = project.split('/');
    await pages.prisma.domain.createMany({
      data: Array.from({ length: many }, (_, n) => ({
        id: `${String(count).padStart(8, '0')}-0000-4000-8000-${String(n).padStart(12, '0')}`,
        projectId,
        hostname: `d${n}.list-${count}.test`,
        target: `t${n}.edge.test`,
        status: n % 10 === 0 ? ('live' as const) : ('pending' as const),
        addedAt: at,
        pendingSince: at,
      })),
    });
    return project;
  }

  it('has neither search nor filter up to 20 domains', async () => {
    const { text } = await pages.show(`GET ${await withDomains(20)}/domains`);
    expect(rowsIn(text)).toBe(20);
    expect(text).not.toContain('role="search"');
    expect(text).not.toContain('Next page');
  });

  it('has pages, a status filter and a search beyond that', async () => {
    const project = await withDomains(45);
    const all = await pages.show(`GET ${project}/domains`);
    expect(rowsIn(all.text)).toBe(20);
    expect(all.text).toContain('role="search"');
    const live = await pages.show(`GET ${project}/domains?status=live`);
    expect(rowsIn(live.text)).toBe(5);
    expect(live.text).toContain('status=live" aria-current="true"');
    const found = await pages.show(`GET ${project}/domains?search=d44.list`);
    expect(rowsIn(found.text)).toBe(1);
    expect(found.text).toContain('value="d44.list"');
    const pending = await pages.show(`GET ${project}/domains?status=pending`);
    const next = /href="([^"]*cursor=[^"]*)"/.exec(pending.text)?.[1]?.replaceAll('&amp;', '&');
    expect(next).toContain('status=pending');
    expect(rowsIn((await pages.show(`GET ${next}`)).text)).toBe(20);
  });

  it('says that nothing matches, and how to see all', async () => {
    const project = await withDomains(21);
    const { text } = await pages.show(`GET ${project}/domains?search=nothing-like-it`);
    expect(text).toContain('No domain matches');
    expect(text).toContain(`href="${project}/domains">Show all`);
  });

  it('ignores empty fields of the search', async () => {
    const project = await withDomains(21);
    const { text, status } = await pages.show(`GET ${project}/domains?search=&status=`);
    expect([status, rowsIn(text)]).toEqual([200, 20]);
  });
});

test('The zone file is a download with the record to create', async () => {
  const project = await aProject();
  const form = { hostname: 'docs.shop-file.test' };
  await pages.show(`POST ${project}/domains`, { form });
  const answer = await pages.show(`GET ${project}/domains/docs.shop-file.test/zone-file`);
  expect(answer).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment; filename="docs.shop-file.test.zone"',
    },
  });
  expect(answer.text).toMatch(/^docs 3600 IN CNAME [a-z2-7]{16}\.edge\.signpost\.test\.$/m);
  const missing = await pages.show(`GET ${project}/domains/none.shop-file.test/zone-file`);
  expect(missing.status).toBe(404);
});

test('The timeline has a refusal in our words, without the text of an error', async () => {
  const project = await aProject();
  await pages.show(`POST ${project}/domains`, { form: { hostname: 'docs.shop-words.test' } });
  const [, , projectId = ''] = project.split('/');
  const domain = await pages.prisma.domain.findFirstOrThrow({
    where: { hostname: 'docs.shop-words.test' },
  });
  const data = { problem: 'connection', detail: 'connect ECONNREFUSED 192.0.2.7:80' };
  const last = await pages.prisma.event.findFirstOrThrow({
    where: { projectId },
    orderBy: { number: 'desc' },
  });
  const number = last.number + 1n;
  await pages.prisma.event.create({
    data: { projectId, domainId: domain.id, number, type: 'certificate.failed', data, at: last.at },
  });
  const { text } = await pages.show(`GET ${project}/domains/docs.shop-words.test`);
  expect(text).toContain('could not connect to an address of the name');
  expect(text).not.toContain('ECONNREFUSED');
});
