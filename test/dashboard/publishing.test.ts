import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import { callApi } from '../http/support.ts';
import { hostile } from './support/lives.ts';
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

/** Creates a project through the forms, except for what `missing` names. Returns its path. */
async function aProject(missing: 'nothing' | 'plan' | 'deploy' = 'nothing'): Promise<string> {
  count += 1;
  const plan = missing === 'plan' ? 'free' : 'pro';
  const form = { name: `Projekt ${count}`, slug: '', plan };
  const made = await pages.show('POST /projects', { form });
  const path = (made.headers['location'] ?? '').replace(/\/domains$/, '');
  if (missing === 'nothing') {
    await pages.show(`POST ${path}/deploys`, { form: { upstream: 'http://127.0.0.1:9' } });
  }
  return path;
}

async function add(project: string, hostname: string): Promise<string> {
  const added = await pages.show(`POST ${project}/domains`, { form: { hostname } });
  expect(added.status).toBe(303);
  return added.headers['location'] ?? '';
}

const has = (text: string) => expect.stringContaining(text);

describe('The project form', () => {
  it('creates a project, with an address name from its name by default', async () => {
    const form = { name: 'Café du Nord!', slug: '', plan: 'pro' };
    expect((await pages.show('POST /projects', { form })).status).toBe(303);
    expect(await pages.show('GET /projects')).toMatchObject({
      status: 200,
      text: has('cafe-du-nord'),
    });
    const again = await pages.show('POST /projects', { form });
    expect(again).toMatchObject({ status: 409, text: has('Another project has this slug.') });
    expect(again.text).toContain('value="Café du Nord!"');
    const odd = await pages.show('POST /projects', { form: { name: '!', slug: '', plan: 'pro' } });
    expect(odd).toMatchObject({ status: 400, text: has('slug: must be 1 to 63') });
  });
});

describe('The missing steps', () => {
  it('come first on the page, one by one', async () => {
    const project = await aProject('plan');
    const before = await pages.show(`GET ${project}/domains`);
    expect(before.text).toContain('Before your first domain');
    expect(before.text).not.toContain('name="hostname"');
    await pages.show(`POST ${project}/plan`, { form: { plan: 'pro' } });
    const half = await pages.show(`GET ${project}/domains`);
    expect(half.text).toContain('Paid plan<span class="unseen"> (done)');
    const refused = await pages.show(`POST ${project}/deploys`, { form: { upstream: 'ftp://x' } });
    expect(refused).toMatchObject({ status: 400, text: has('must be a full http or https URL') });
    expect(refused.text).toContain('value="ftp://x"');
    await pages.show(`POST ${project}/deploys`, { form: { upstream: 'http://127.0.0.1:9/' } });
    expect((await pages.show(`GET ${project}/domains`)).text).toContain('name="hostname"');
  });

  it('are also reported by a form that was already open', async () => {
    const project = await aProject('deploy');
    const form = { hostname: 'docs.shop.test' };
    expect((await pages.show(`POST ${project}/domains`, { form })).status).toBe(409);
  });
});

describe('Adding a domain on a page', () => {
  it('accepts any spelling and shows the record to create', async () => {
    const project = await aProject();
    const path = await add(project, ' https://Docs.Shop.Test/path ');
    expect(path).toBe(`${project}/domains/docs.shop.test`);
    const { text } = await pages.show(`GET ${path}`);
    const { body } = await callApi(pages.api, `GET /v1${path}`, { key });
    const { record, summary } = body as {
      record: { value: string };
      summary: { headline: string };
    };
    for (const field of ['CNAME', 'docs', record.value.replaceAll('.', '.<wbr>')]) {
      expect(text).toContain(`<code>${field}</code>`);
    }
    expect(text).toContain(summary.headline);
    expect(text).toMatch(/data-copy="docs"[\s\S]*data-copy="[a-z2-7]{16}\.edge\.signpost\.test"/);
  });

  it('at a zone apex shows the alternative to a CNAME', async () => {
    const project = await aProject();
    const form = { hostname: 'shop-apex.test', www: 'only' };
    const path = (await pages.show(`POST ${project}/add`, { form })).headers['location'];
    const { text } = await pages.show(`GET ${path}`);
    expect(text).toContain('<code>ALIAS</code>');
    expect(text).toContain('ANAME or CNAME flattening');
  });

  test.each([
    ['not a host name', 'contains a space'],
    ['*.shop.test', 'A wildcard such as'],
    ['x.edge.signpost.test', 'belongs to this platform'],
    ['co.uk', 'is a public suffix'],
    [hostile, ''],
  ])('rejects %j with a reason and keeps the input', async (hostname, reason) => {
    const project = await aProject();
    const refused = await pages.show(`POST ${project}/domains`, { form: { hostname } });
    expect(refused).toMatchObject({ status: 400, text: has(reason) });
    expect(refused.text).toContain(`value="${escaped(hostname)}"`);
    expect(refused.text).toContain('aria-describedby="hostname-problem hostname-hint"');
    expect(refused.text).not.toContain('data-events');
  });

  it('twice reports the duplicate', async () => {
    const project = await aProject();
    await add(project, 'twice.shop.test');
    const form = { hostname: 'twice.shop.test' };
    const again = await pages.show(`POST ${project}/domains`, { form });
    expect(again).toMatchObject({ status: 409, text: has('This domain is already attached.') });
  });

  it('explains the name while it is typed', async () => {
    const project = await aProject();
    const reading = async (text: string) =>
      (await pages.show(`GET ${project}/reading?hostname=${encodeURIComponent(text)}`)).text;
    expect(await reading('HTTPS://Bücher.shop.test/x')).toMatch(
      /Read as <strong>xn--bcher-kva\.shop\.test<\/strong> \(bücher\.shop\.test\): one CNAME record/,
    );
    expect(await reading('*.shop.test')).toContain('A wildcard such as');
  });
});

/** Escaped as in an attribute. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

describe('The page of a domain', () => {
  it('escapes everything from a hostile zone', async () => {
    const path = await add(await aProject(), 'hostile.shop.test');
    const hostname = 'hostile.shop.test';
    const findings: readonly Finding[] = [
      { code: 'cname_mismatch', hostname, target: 'x.edge.test', found: hostile },
    ];
    await pages.prisma.domain.updateMany({
      where: { hostname },
      data: { findings: JSON.parse(JSON.stringify(findings)), lastCheckedAt: pages.clock.now },
    });
    const { text } = await pages.show(`GET ${path}`);
    expect(text).toContain('&lt;img src=x');
    expect(text).not.toMatch(/<img|<script>|alert\(\d\)"/);
    expect((await pages.show('GET /projects')).text).not.toContain('<img');
  });

  it('can start a check at once', async () => {
    const path = await add(await aProject(), 'verify.shop.test');
    expect((await pages.show(`GET ${path}`)).text).toContain('>Check now</button>');
    const answer = await pages.show(`POST ${path}/verify`, { form: {} });
    expect(answer).toMatchObject({ status: 303, headers: { location: path } });
    expect((await pages.show(`GET ${path}`)).text).toContain('Check requested');
  });

  it('is an error page when the domain is missing', async () => {
    const project = await aProject();
    expect(await pages.show(`GET ${project}/domains/nobody.shop.test`)).toMatchObject({
      status: 404,
      text: has('This project has no such domain.'),
    });
    for (const below of ['', '/remove']) {
      const unknown = `/projects/nobody/domains/a.test${below}`;
      expect((await pages.show(`GET ${unknown}`)).status).toBe(404);
    }
  });
});

describe('Removing a domain on a page', () => {
  it('warns, lists the settings that go with it, and keeps the history', async () => {
    const project = await aProject();
    const path = await add(project, 'main.shop.test');
    await add(project, 'former.shop.test');
    await pages.show(`POST ${project}/settings/primary`, { form: { primary: 'main.shop.test' } });
    const redirect = { from: 'former.shop.test', to: 'main.shop.test', status: '301' };
    await pages.show(`POST ${project}/settings/redirects`, { form: redirect });
    const asked = await pages.show(`GET ${path}/remove`);
    expect(asked.text).toContain('Removal stops serving traffic <strong>at once</strong>');
    expect(asked.text).toContain('It is the primary domain');
    expect(asked.text).toContain('The redirect from former.shop.test to main.shop.test (301).');
    // A page from before the settings changed.
    const early = await pages.show(`POST ${path}/remove`, { form: {} });
    expect(early).toMatchObject({ status: 409, text: has('main.shop.test is the primary domain') });
    const removed = await pages.show(`POST ${path}/remove`, { form: { orphans: 'drop' } });
    expect(removed.headers['location']).toBe(`${project}/domains?removed=main.shop.test`);
    const list = await pages.show(`GET ${removed.headers['location']}`);
    expect(list.text).toContain('main.shop.test was removed');
    expect(list.text).not.toContain('id="domain-main.shop.test"');
    const gone = await pages.show(`GET ${path}`);
    expect(gone).toMatchObject({ status: 404, text: has('Removed; traffic stopped') });
  });

  it('ignores names that the URL makes up', async () => {
    const project = await aProject();
    for (const made of ['<b>x</b>', 'call 0800-123 now']) {
      const { text } = await pages.show(
        `GET ${project}/domains?removed=${encodeURIComponent(made)}`,
      );
      expect(text).not.toContain('was removed');
    }
  });

  it('offers a redirect instead', async () => {
    const project = await aProject();
    const path = await add(project, 'old.shop-two.test');
    expect((await pages.show(`GET ${path}/remove`)).text).toContain('Add the new one first.');
    await add(project, 'new.shop-two.test');
    const form = { to: 'new.shop-two.test' };
    const answer = await pages.show(`POST ${path}/redirect`, { form });
    expect(answer.headers['location']).toBe(`${project}/settings`);
    expect((await pages.show(`GET ${project}/domains`)).text).toContain(
      'Redirects to new.shop-two.test (301)',
    );
  });
});

describe('The primary domain and redirects', () => {
  it('can be set and removed; errors do not mention body fields', async () => {
    const project = await aProject();
    expect((await pages.show(`GET ${project}/settings`)).text).toContain('No custom domains');
    await add(project, 'a.shop-three.test');
    await add(project, 'b.shop-three.test');
    const post = (below: string, form: Record<string, string>) =>
      pages.show(`POST ${project}/settings/${below}`, { form });
    expect((await post('primary', { primary: 'a.shop-three.test' })).status).toBe(303);
    const away = { from: 'a.shop-three.test', to: 'b.shop-three.test', status: '301' };
    const refused = await post('redirects', away);
    expect(refused).toMatchObject({
      status: 400,
      text: has('<p>a.shop-three.test cannot be the primary domain and redirect to'),
    });
    await post('redirects', { ...away, from: away.to, to: away.from });
    await post('redirects', { ...away, from: away.to, to: away.from, status: '302' });
    const { text } = await pages.show(`GET ${project}/settings`);
    expect(text.match(/Delete the redirect from/g)).toHaveLength(1);
    expect(text).toContain('data-heading="Status"><span>302<');
    await post('redirects/end', { from: 'b.shop-three.test' });
    expect((await pages.show(`GET ${project}/settings`)).text).toContain('No redirects');
    expect((await post('primary', { primary: '' })).status).toBe(303);
    const { body } = await callApi(pages.api, `GET /v1${project}/domain-settings`, { key });
    expect(body).toEqual({ domains: { primary: null, redirects: [] } });
  });
});

it('Every page stays below 100 KB, whatever its content', async () => {
  const project = await aProject();
  const [, , projectId = ''] = project.split('/');
  const at = pages.clock.now;
  await pages.prisma.domain.createMany({
    data: Array.from({ length: 300 }, (_, n) => ({
      id: `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`,
      projectId,
      hostname: `d${n}.${'long-label-'.repeat(5)}${n}.shop-many.test`,
      target: 'x.edge.test',
      status: 'pending' as const,
      addedAt: at,
      pendingSince: at,
      nextCheckAt: at,
    })),
  });
  const { text: first } = await pages.show(`GET ${project}/domains`);
  const assets = [...first.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
  let shared = 0;
  for (const path of assets) shared += (await pages.show(`GET ${path}`)).text.length;
  const next = /href="[^"]*(\/domains\?cursor=[^"]+)"/.exec(first)?.[1] ?? '';
  for (const path of ['/domains', next, '/settings', '/domains/nobody.test']) {
    const { text } = await pages.show(`GET ${project}${path}`);
    expect(Buffer.byteLength(text) + shared, path).toBeLessThan(100_000);
  }
  expect((await pages.show(`GET ${project}${next}`)).text).toContain('First page');
  expect((await pages.show(`GET ${project}/domains?cursor=x`)).text).toContain('cursor');
});
