/** Who may only read is offered nothing else: every page is walked, and every form on it is really sent. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningDashboard, startDashboard } from './support/dashboard.ts';
import { everyLife } from './support/lives.ts';

let dashboard: RunningDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
  const { projectId, ids } = await everyLife(dashboard);
  await dashboard.api('POST', '/v1/projects', { name: 'Free', slug: 'free', plan: 'free' });
  await dashboard.api('POST', '/v1/projects', { name: 'Empty', slug: 'empty', plan: 'pro' });
  const { prisma } = dashboard.signpost.parts.database;
  const attached = await prisma.domain.findMany({
    where: { projectId, removedAt: null, id: { in: Object.values(ids) } },
    orderBy: { hostname: 'asc' },
  });
  const [one, two] = attached.map(({ hostname }) => hostname);
  const domains = { primary: one, redirects: [{ from: two, to: one, status: 301 }] };
  await dashboard.api('PUT', `/v1/projects/${projectId}/domain-settings`, { domains });
}, 180_000);
afterAll(() => dashboard?.close());

type Sent = { readonly action: string; readonly status: number };
type Walked = {
  /** The status of every page that is linked from another, by its path. */
  readonly pages: ReadonlyMap<string, number>;
  readonly forms: readonly Sent[];
};

/** Asks for each page that can be reached by links, and sends each form once; signing out comes last. */
async function walk(scopes: readonly string[], accountId?: string): Promise<Walked> {
  const body = { name: 'walker', scopes, accountId };
  const { key } = await dashboard.api<{ key: string }>('POST', '/v1/keys', body);
  const fetched = (path: string, more: RequestInit = {}) =>
    fetch(dashboard.url + path, { redirect: 'manual', ...more });
  const signedIn = await fetched('/sign-in', {
    method: 'POST',
    body: new URLSearchParams({ key }),
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const headers = { cookie, accept: 'text/html' };
  const pages = new Map<string, number>();
  const forms = new Map<string, URLSearchParams>();
  const first = await fetched('/', { headers });
  const ahead = [first.headers.get('location') ?? '/'];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    if (pages.has(path)) continue;
    const response = await fetched(path, { headers });
    pages.set(path, response.status);
    const text = await response.text();
    for (const [action, fields] of formsIn(text)) forms.set(action, fields);
    const links = [...text.matchAll(/<a [^>]*href="(\/[^"#]*)"/g)].map(([, href = '']) => href);
    ahead.push(...links.map(unescaped).filter((href) => !href.startsWith('/docs')));
  }
  const isOut = (action: string) => Number(/sign-out|end-own/.test(action));
  const inOrder = [...forms].toSorted(([one], [other]) => isOut(one) - isOut(other));
  const sent: Sent[] = [];
  for (const [action, fields] of inOrder) {
    const { status } = await fetched(action, { method: 'POST', headers, body: fields });
    sent.push({ action, status });
  }
  return { pages, forms: sent };
}

/** Every form that changes something, with what it would send. A button outside of a form sends nothing. */
function formsIn(text: string): readonly (readonly [string, URLSearchParams])[] {
  return [...text.matchAll(/<form method="post" action="([^"]+)">(.*?)<\/form>/gs)].map(
    ([, action = '', within = '']) => {
      const fields = [
        ...within.matchAll(/<(?:input|select)[^>]* name="([^"]+)"(?:[^>]* value="([^"]*)")?/g),
      ];
      const pairs = fields.map(
        ([, name = '', value = '']) => [name, unescaped(value)] as [string, string],
      );
      return [unescaped(action), new URLSearchParams(pairs)] as const;
    },
  );
}

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');

/** What everybody may: it is about one's own session. */
const own = ['/sessions/end-own', '/sign-out'];
const kindsOf = ({ forms }: Walked) =>
  new Set(forms.map(({ action }) => action.replace(/[\w.-]+\.example|[0-9a-f-]{36}/g, '*')));
const refusedIn = ({ pages, forms }: Walked) => [
  ...[...pages].filter(([, status]) => status === 403).map(([path]) => path),
  ...forms.filter(({ status }) => status === 403).map(({ action }) => action),
];

describe('a key that may only read', () => {
  it('is offered no form that it may not send, and led to no page that it may not see', async () => {
    const walked = await walk(['domains:read']);
    expect(walked.pages.size).toBeGreaterThan(10);
    expect([...kindsOf(walked)].sort()).toEqual(own);
    expect(refusedIn(walked)).toEqual([]);
    expect([...walked.pages.keys()].filter((path) => /ops|accounts|remove$/.test(path))).toEqual(
      [],
    );
  });

  it('of operators sees their pages as well, and sends nothing', async () => {
    const walked = await walk(['domains:read', 'ops:read']);
    expect(walked.pages.has('/ops')).toBe(true);
    expect([...walked.pages.keys()].some((path) => path.startsWith('/ops/domains/'))).toBe(true);
    expect([...kindsOf(walked)].sort()).toEqual(own);
    expect(refusedIn(walked)).toEqual([]);
  });

  it('of operators alone is led to no project', async () => {
    const walked = await walk(['ops:read']);
    const projects = [...walked.pages.keys()].filter((path) => path.startsWith('/projects/'));
    expect(walked.pages.has('/ops')).toBe(true);
    expect([...kindsOf(walked)].sort()).toEqual(own);
    expect(projects).toEqual([]);
    expect(refusedIn(walked)).toEqual([]);
  });
});

describe('a key of an account', () => {
  it('with admin is led to no operators’ page, and everything that it is offered it may', async () => {
    const account = await dashboard.api<{ id: string }>('POST', '/v1/accounts', { name: 'Shop' });
    const walked = await walk(['admin'], account.id);
    expect(kindsOf(walked)).toContain('/projects');
    expect([...walked.pages.keys()].filter((path) => /ops|accounts/.test(path))).toEqual([]);
    expect(refusedIn(walked)).toEqual([]);
  });
});

// Last: what it sends changes what there is.
describe('a key that may write', () => {
  it('is offered every form of projects and domains, and none is refused to it', async () => {
    const walked = await walk(['domains:read', 'domains:write']);
    expect([...kindsOf(walked)]).toEqual(
      expect.arrayContaining([
        ...own,
        '/projects',
        '/projects/*/plan',
        '/projects/*/deploys',
        '/projects/*/domains',
        '/projects/*/domains/*/verify',
        '/projects/*/domains/*/remove',
        '/projects/*/domains/*/redirect',
        '/projects/*/settings/primary',
        '/projects/*/settings/redirects',
        '/projects/*/settings/redirects/end',
      ]),
    );
    const { length } = walked.forms;
    expect(refusedIn(walked)).toEqual([]);
    expect(length).toBeGreaterThan(20);
  });
});
