import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callApi } from '../http/support.ts';
import { storagesOfRun } from '../support/storage.ts';
import { type Pages, startPages } from './support/pages.ts';

describe.each(storagesOfRun())('Concurrent settings changes on $name', ({ name, available }) => {
  let pages: Pages;
  let key: string;
  let project: string;
  let count = 0;

  beforeAll(async () => {
    if (!available) return;
    pages = await startPages('', name);
    key = await pages.keyWith('domains:read', 'domains:write');
    await pages.signIn(key);
    await pages.show('GET /projects');
  });
  afterAll(() => pages?.close());

  const call = (method: string, below: string, json?: object) =>
    callApi(pages.api, `${method} /v1${project}${below}`, { key, ...(json && { json }) });
  const www = 'www.shop.test';
  const names = Array.from({ length: 12 }, (_, n) => `old${n}.shop.test`);

  beforeEach(async () => {
    if (!available) return;
    count += 1;
    project = '';
    const made = { name: 'Shop', slug: `at-once-${count}`, plan: 'pro' };
    const { id } = (await call('POST', '/projects', made)).body as { id: string };
    project = `/projects/${id}`;
    await call('POST', '/deploys', { status: 'succeeded', upstream: 'http://127.0.0.1:9' });
    await pages.prisma.domain.createMany({
      data: [www, 'shop.test', ...names].map((hostname, n) => ({
        id: `${id.slice(0, -2)}${String(n).padStart(2, '0')}`,
        projectId: id,
        hostname,
        target: 'x.edge.test',
        status: 'pending' as const,
        addedAt: pages.clock.now,
        pendingSince: pages.clock.now,
        nextCheckAt: pages.clock.now,
      })),
    });
  });

  const post = (below: string, form: Record<string, string>) =>
    pages.show(`POST ${project}/settings/${below}`, { form });
  const redirect = (from: string, to = www) => post('redirects', { from, to, status: '301' });
  const stored = async () => {
    const { body } = await call('GET', '/domain-settings');
    return (
      body as { domains: { primary: string | null; redirects: { from: string; to: string }[] } }
    ).domains;
  };
  const put = (primary: string | null, ...redirects: readonly object[]) =>
    call('PUT', '/domain-settings', { domains: { primary, redirects } });

  it.skipIf(!available)('store all of twelve redirects added by twelve pages', async () => {
    const answers = await Promise.all(names.map((from) => redirect(from)));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 303));
    const { redirects } = await stored();
    expect(redirects.map(({ from }) => from).sort()).toEqual([...names].sort());
  });

  it.skipIf(!available)('store a primary domain and a redirect from two pages', async () => {
    const [primary, added] = await Promise.all([
      post('primary', { primary: www }),
      redirect('shop.test'),
    ]);
    expect([primary.status, added.status]).toEqual([303, 303]);
    expect(await stored()).toMatchObject({
      primary: www,
      redirects: [{ from: 'shop.test', to: www }],
    });
  });

  it.skipIf(!available)('reject one of two conflicting changes with a reason', async () => {
    const answers = await Promise.all([
      post('primary', { primary: www }),
      redirect(www, 'shop.test'),
    ]);
    const refused = answers.filter(({ status }) => status !== 303);
    expect(refused).toMatchObject([{ status: 400 }]);
    expect(refused[0]?.text).toContain('<p>www.shop.test cannot be the primary domain');
    const { primary, redirects } = await stored();
    expect([primary, redirects.length]).toEqual(answers[0]?.status === 303 ? [www, 0] : [null, 1]);
  });

  it.skipIf(!available)(
    'leave the acknowledged one of different redirects of a domain',
    async () => {
      const from = names[0] ?? '';
      const [a, b] = await Promise.all([redirect(from, www), redirect(from, 'shop.test')]);
      const { redirects } = await stored();
      expect(redirects).toHaveLength(1);
      const [kept, lost] = redirects[0]?.to === www ? [a, b] : [b, a];
      expect(kept.status).toBe(303);
      // It either came first and was stored completely, or it was rejected as outdated.
      if (lost.status !== 303) {
        expect(lost).toMatchObject({
          status: 412,
          text: expect.stringContaining('Someone else changed this setting.'),
        });
      }
    },
  );

  it.skipIf(!available)('never remove a redirect that the page has not shown', async () => {
    const from = names[0] ?? '';
    await put(null, { from, to: www, status: 301 });
    await pages.show(`GET ${project}/settings`);
    await put(null, { from, to: 'shop.test', status: 301 });
    const late = await post('redirects/end', { from, to: www });
    expect(late).toMatchObject({
      status: 412,
      text: expect.stringContaining('The current value is shown; yours was not saved.'),
    });
    expect((await stored()).redirects).toMatchObject([{ from, to: 'shop.test' }]);
    expect((await post('redirects/end', { from, to: 'shop.test' })).status).toBe(303);
    expect((await post('redirects/end', { from, to: 'shop.test' })).status).toBe(303);
    expect((await stored()).redirects).toEqual([]);
  });
});
