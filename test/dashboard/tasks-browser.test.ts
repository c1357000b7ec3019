/** Eight ordinary tasks in a browser, with the clicks that each takes. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { saveObservation } from './support/lives.ts';
import { seenIn } from './support/states.ts';

describe.skipIf(lacks('chromium', 'ordinary tasks in a browser'))('It takes', () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let projectId: string;
  let clicks: number;

  beforeAll(async () => {
    dashboard = await startDashboard();
    browser = await startBrowser();
  });
  beforeEach(async () => {
    projectId = await dashboard.aProject();
    context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
    page = await context.newPage();
    clicks = 0;
    await signIn(page, dashboard.url, `/projects/${projectId}/domains`);
  });
  afterEach(() => context?.close());
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  async function click(selector: string): Promise<void> {
    await page.click(selector);
    clicks += 1;
  }

  async function domainIn(state: keyof typeof seenIn, hostname: string): Promise<void> {
    await dashboard.api('POST', `/v1/projects/${projectId}/domains`, { hostname });
    await check(state, hostname);
  }

  async function check(state: keyof typeof seenIn, hostname: string): Promise<void> {
    const { database } = dashboard.signpost.service;
    const where = { projectId, hostname };
    const { id, target } = await database.prisma.domain.findFirstOrThrow({ where });
    const zone = hostname.split('.').slice(-2).join('.');
    const seen = seenIn[state]?.(hostname, zone, target);
    if (seen === undefined) throw new Error(`no state ${state}`);
    await saveObservation(database, id, seen);
  }

  const clipboard = () => page.evaluate('navigator.clipboard.readText()');
  const row = (words: string) => `#task .change:has-text("${words}")`;

  it('two clicks to add an apex and www, and both show what to do at GoDaddy', async () => {
    await page.fill('#hostname', 'pair-shop.example');
    await click('button:text-is("Add domain")');
    await click('button:text-is("Add")');
    await page.waitForURL('**/domains/pair-shop.example');
    expect(clicks).toBe(2);
    await check('apex', 'pair-shop.example');
    await check('missing', 'www.pair-shop.example');
    await page.reload();
    for (const words of ['34.102.136.180', '203.0.113.10', '203.0.113.11', '2001:db8:1::10']) {
      await page.waitForSelector(row(words));
    }
    await page.waitForSelector('#partner h2:has-text("Also for www.pair-shop.example")');
    await page.waitForSelector('#partner .change:has-text("www")');
    expect(await page.textContent('#task-title')).toBe('Do this at GoDaddy');
    await page.waitForSelector('a:has-text("Open DNS at GoDaddy")');
  });

  it('three clicks to repair CAA records', async () => {
    await domainIn('caa', 'caa.tasks.example');
    await page.reload();
    await click('.rows a:has-text("caa")');
    const add = '#task .change:has(.sign:text-is("Add"))';
    await click(`${add} [aria-label="Copy value"]`);
    expect(await clipboard()).toBe('0 issue "letsencrypt.org"');
    const link = page.locator('a:has-text("Open DNS at Namecheap")');
    expect(await link.getAttribute('href')).toBe(
      'https://ap.www.namecheap.com/domains/domaincontrolpanel/tasks.example/advancedns',
    );
    expect(clicks + 1).toBe(3);
  });

  it('four clicks to replace a wrong A record', async () => {
    await domainIn('action', 'old.tasks.example');
    await page.reload();
    await click('.rows a:has-text("old")');
    const add = '#task .change:has(.sign:text-is("Add"))';
    await click(`${add} [aria-label="Copy name"]`);
    expect(await clipboard()).toBe('old');
    await click(`${add} [aria-label="Copy value"]`);
    expect(await clipboard()).toMatch(/^[a-z2-7]{16}\.edge\./);
    const link = page.locator('a:has-text("Open DNS at GoDaddy")');
    expect(await link.getAttribute('href')).toContain('/manage/tasks.example/dns');
    expect(clicks + 1).toBe(4);
  });

  it('one click to open a domain among 500', async () => {
    const at = new Date();
    const later = new Date(at.getTime() + 3_600_000);
    await dashboard.signpost.service.database.prisma.domain.createMany({
      data: Array.from({ length: 500 }, (_, n) => ({
        id: `00000000-0000-4000-a000-${String(n).padStart(12, '0')}`,
        projectId,
        hostname: `customer${n}.many.example`,
        target: `c${n}.edge.test`,
        status: 'pending' as const,
        addedAt: at,
        pendingSince: at,
        nextCheckAt: later,
      })),
    });
    await page.reload();
    await page.fill('input[name="search"]', 'customer437');
    await page.press('input[name="search"]', 'Enter');
    await page.waitForURL('**search=customer437');
    await click('.rows a:has-text("customer437")');
    await page.waitForURL('**/domains/customer437.many.example');
    expect(clicks).toBe(1);
  });

  it('two clicks to redirect an old address, with sensible choices made', async () => {
    await domainIn('verified', 'old.redirect.example');
    await domainIn('verified', 'new.redirect.example');
    await page.reload();
    await click('nav a:text-is("Redirects")');
    await page.selectOption('#from', 'old.redirect.example');
    await page.selectOption('#to', 'new.redirect.example');
    await click('button:text-is("Add the redirect")');
    await page.waitForSelector('tbody th:has-text("old.redirect.example")');
    expect(clicks).toBe(2);
  });

  it('one click to see why a domain is not live, and none to see that it is the reader’s turn', async () => {
    await domainIn('changed', 'why.tasks.example');
    await page.reload();
    await page.waitForSelector('.rows li:has-text("Change 1 record at GoDaddy")');
    await click('.rows a:has-text("why")');
    await page.waitForSelector(row('shops.elsewhere.example'));
    expect(clicks).toBe(1);
  });

  it('two clicks to check a domain now', async () => {
    await domainIn('missing', 'now.tasks.example');
    await page.reload();
    await click('.rows a:has-text("now")');
    await click('#verify');
    await page.waitForSelector('.timeline:has-text("Check requested")');
    expect(clicks).toBe(2);
  });

  it('three clicks to remove a domain', async () => {
    await domainIn('missing', 'gone.tasks.example');
    await page.reload();
    await click('[aria-label="More for gone.tasks.example"]');
    await click('text=Remove domain');
    await click('button:text-is("Remove gone.tasks.example")');
    await page.waitForSelector('.notice:has-text("gone.tasks.example was removed")');
    expect(clicks).toBe(3);
  });

  it('no reload to learn that the server is away', async () => {
    await domainIn('missing', 'away.tasks.example');
    await page.goto(`${dashboard.url}/projects/${projectId}/domains/away.tasks.example`);
    await context.setOffline(true);
    await page.click('#verify');
    await page.waitForSelector('.unreachable:has-text("can’t be reached")');
    await context.setOffline(false);
    await page.click('#verify');
    await page.waitForSelector('.timeline:has-text("Check requested")');
  });
});
