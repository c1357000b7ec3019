/** Runs on both kinds of storage. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storageOf } from '../../process/support.ts';
import { startBrowser } from '../../support/browser.ts';
import { lacks } from '../../support/programs.ts';
import { storagesOfRun } from '../../support/storage.ts';
import { until } from '../../support/world.ts';
import { complaintsOfAxe } from '../support/axe.ts';
import { type RunningDashboard, signIn, startDashboard } from '../support/dashboard.ts';
import { everyLife } from '../support/lives.ts';
import { octetsOf, overflowOf } from '../support/measures.ts';

const withoutBrowser = lacks('chromium', "the operator's pages in a browser");
const wanted = storagesOfRun('postgres_redis').filter(({ name }) => name !== 'postgres');

/** The initial domains of everyLife. */
async function someDomains({ api, aProject, signpost }: RunningDashboard) {
  const projectId = await aProject();
  for (const label of ['new', 'docs', 'blog']) {
    await api('POST', `/v1/projects/${projectId}/domains`, { hostname: `${label}.shop.example` });
  }
  const rows = await signpost.service.database.prisma.domain.findMany({ where: { projectId } });
  const labeled = rows.map(({ hostname, id }) => [hostname.split('.')[0], id] as const);
  return { ids: Object.fromEntries(labeled) as Readonly<Record<string, string>> };
}

describe.skipIf(withoutBrowser).each(wanted)('In a browser, on $name,', ({ name, available }) => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    if (!available) return;
    // Embedded storage is one process with workers: without reachable DNS servers nothing changes.
    const alone = { ROLE: 'all', DNS_SERVERS: '127.0.0.1:9', DNS_AUTHORITATIVE: 'false' };
    dashboard = await startDashboard(name === 'embedded' ? alone : {}, storageOf(name));
    browser = await startBrowser();
    ({ ids } = name === 'embedded' ? await someDomains(dashboard) : await everyLife(dashboard));
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** Runs `act` signed in and expects no complaint and no request to another host. */
  async function signedIn(path: string, act: (page: Page) => Promise<void>, colors = 'light') {
    const context = await browser.newContext({
      bypassCSP: path === '/ops', // axe is injected into our pages; bull-board is held to the policy
      colorScheme: colors === 'dark' ? 'dark' : 'light',
      viewport: colors === 'dark' ? { width: 360, height: 740 } : { width: 1280, height: 900 },
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (fault) => complaints.push(String(fault)));
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== dashboard.url) complaints.push(request.url());
    });
    await signIn(page, dashboard.url, path);
    await act(page);
    await context.close();
    expect(complaints).toEqual([]);
  }

  it.skipIf(!available).each(['light', 'dark'])(
    'the pages are accessible and small on a %s screen',
    (colors) =>
      signedIn(
        '/ops',
        async (page) => {
          const domain = `/ops/domains/${ids['blog']}`;
          const run = `/ops/domains/${ids['new']}/run?queue=check-dns`;
          for (const path of ['/ops', '/ops/domains?name=shop', domain, run]) {
            await page.goto(dashboard.url + path);
            expect(await overflowOf(page), path).toBe(0);
            expect(await octetsOf(page), path).toBeLessThan(100_000);
            expect(await complaintsOfAxe(page), path).toEqual([]);
          }
        },
        colors,
      ),
    240_000, // axe checks four pages
  );

  it.skipIf(!available)('a search finds a domain, and its job can be run', () =>
    signedIn('/ops', async (page) => {
      await page.fill('#name', 'docs.sh');
      await page.click('button[aria-label="Find"]');
      await page.waitForURL('**/ops/domains?name=docs.sh'); // the previous page shows the name, too
      await page.click('text=docs.shop.example');
      await page.click('a:has-text("Run now")');
      await page.click('button:has-text("Run it now")');
      await page.waitForURL(`${dashboard.url}/ops/domains/${ids['docs']}`);
      // A worker may be rescheduling it, and this page does not update.
      await until('its job is shown', async () => {
        const shown = (await page.textContent('main')) ?? '';
        return /waiting for a worker|scheduled|running/.test(shown) || void (await page.reload());
      });
    }),
  );

  it.skipIf(!available)('the queue pages work under the content security policy', () =>
    signedIn('/ops/queues', async (page) => {
      await page.click('nav >> text=check-dns');
      await page.waitForURL(/\/ops\/queues\/queue\/check-dns/);
      await page.waitForSelector(`text=${ids['new']}.1`);
      // Embedded storage has a worker that bull-board would not find there.
      expect(await page.textContent('body')).not.toContain('No workers');
      await page.click('text=Logs >> nth=0');
      await page.goto(`${dashboard.url}/ops/queues/queue/check-dns/${ids['new']}.1`);
      await page.waitForSelector('text=domainId');
    }),
  );
});
