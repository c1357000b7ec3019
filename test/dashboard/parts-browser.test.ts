import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { overflowOf } from './support/measures.ts';

const LONG = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(50)}.shop.example`;
const ALSO_LONG = LONG.replace('a', 'z');

describe.skipIf(lacks('chromium', 'parts of pages in a browser'))('A page', () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let page: Page;
  let longs: string;
  let umlauts: string;

  beforeAll(async () => {
    dashboard = await startDashboard();
    longs = await dashboard.aProject();
    for (const hostname of [LONG, ALSO_LONG]) await add(longs, hostname);
    umlauts = await dashboard.aProject();
    for (const label of ['bücher', 'müsli']) await add(umlauts, `${label}.shop.example`);
    browser = await startBrowser();
    page = await browser.newPage();
    await signIn(page, dashboard.url);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** Reloads the page, like an event. A reload under way delays the result. */
  const refresh = () =>
    page.evaluate(
      `import(document.querySelector('link[href*="/refresh-"]').href).then(({ refresh }) => refresh())`,
    );

  const add = (projectId: string, hostname: string) =>
    dashboard.api('POST', `/v1/projects/${projectId}/domains`, { hostname });

  it('with the longest names is no wider than its window', async () => {
    const redirects = [{ from: LONG, to: ALSO_LONG, status: 301 }];
    const domains = { primary: ALSO_LONG, redirects };
    await dashboard.api('PUT', `/v1/projects/${longs}/domain-settings`, { domains });
    const { prisma } = dashboard.signpost.service.database;
    const { id } = await prisma.domain.findFirstOrThrow({ where: { hostname: LONG } });
    const [project, ops] = [`/projects/${longs}`, `/ops/domains/${id}`];
    const tooWide: string[] = [];
    for (const width of [360, 800, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const path of [
        ...['/ops', `/ops/domains?name=${'a'.repeat(40)}`, ops, `${ops}/run?queue=check-dns`],
        ...[`${project}/domains`, `${project}/domains/${LONG}`, `${project}/settings`],
      ]) {
        const answer = await page.goto(dashboard.url + path);
        expect(answer?.status(), path).toBe(200);
        if ((await overflowOf(page)) > 0) tooWide.push(`${path} at ${width}`);
      }
    }
    expect(tooWide).toEqual([]);
  });

  it('shows names in Unicode', async () => {
    await page.goto(`${dashboard.url}/ops`);
    expect(await page.textContent('main')).toContain('bücher.shop.example');
    await page.goto(`${dashboard.url}/projects/${umlauts}/settings`);
    expect(await page.locator('#from option').allTextContents()).toContain('bücher.shop.example');
    await page.selectOption('#from', { label: 'bücher.shop.example' });
    await page.selectOption('#to', { label: 'müsli.shop.example' });
    await page.click('text=Add the redirect');
    await page.waitForSelector('th:has-text("bücher.shop.example")');
    expect(await page.textContent('main')).not.toContain('xn--');
  });

  it('of a project moves to the next step and has a pager once there are many', async () => {
    const made = { name: 'Steps', slug: 'steps', plan: 'free' };
    const { id } = await dashboard.api<{ id: string }>('POST', '/v1/projects', made);
    await page.goto(`${dashboard.url}/projects/${id}/domains`);
    await page.waitForSelector('button:has-text("Switch to Pro")');
    await dashboard.api('PATCH', `/v1/projects/${id}`, { plan: 'pro' });
    await refresh();
    await page.waitForSelector('.todo li[data-tone="ok"]:has-text("Paid plan")');
    const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' };
    await dashboard.api('POST', `/v1/projects/${id}/deploys`, deploy);
    await refresh();
    await page.waitForSelector('main:has-text("No domains yet")');
    await page.fill('#hostname', 'half-typed');
    for (let n = 0; n < 26; n += 1) await add(id, `d${n}.steps.example`);
    await refresh();
    await page.waitForSelector('.pager:has-text("Next page")');
    expect(await page.inputValue('#hostname')).toBe('half-typed');
    await page.click('text=Next page');
    await page.waitForSelector('.pager:has-text("First page")');
    expect(await page.locator('#main .rows .hostname').count()).toBe(6);
    await page.click('text=First page');
    await page.waitForSelector('.pager:has-text("Next page")');
  });
});
