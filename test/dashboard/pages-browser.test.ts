import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { startBrowser, waitForFocus } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun, sizeOfRun } from '../support/run.ts';
import { complaintsOfAxe } from './support/axe.ts';
import { API_KEY, type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { everyLife } from './support/lives.ts';
import { focusedText, octetsOf, overflowOf, shiftsOf } from './support/measures.ts';

// Axe checks every page four times: half a minute each, twice that on a busy machine.
const patience = { timeout: 240_000 };

describe.skipIf(lacks('chromium', 'the dashboard in a browser'))('The dashboard', patience, () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let project: string;
  let paths: readonly string[];

  beforeAll(async () => {
    dashboard = await startDashboard();
    browser = await startBrowser();
    const { projectId } = await everyLife(dashboard);
    project = `/projects/${projectId}`;
    const free = { name: 'Empty', slug: 'empty', plan: 'free' };
    const { id } = await dashboard.api<{ id: string }>('POST', '/v1/projects', free);
    await dashboard.api('PUT', `/v1${project}/domain-settings`, {
      domains: {
        primary: 'www.shop.example',
        redirects: [{ from: 'old.shop.example', to: 'www.shop.example', status: 301 }],
      },
    });
    const domains = ['new', 'docs', 'blog', 'www', 'old', 'split'].map(
      (label) => `${project}/domains/${label}.shop.example`,
    );
    paths = [
      ...['/projects', `${project}/domains`, `${project}/settings`, `/projects/${id}/domains`],
      ...[`/projects/${id}/settings`, `${project}/domains/www.shop.example/remove`, '/nothing'],
      ...domains,
    ];
  });

  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** Runs `act` signed in and expects no complaint and no request to another host. */
  async function signedIn(options: BrowserContextOptions, act: (page: Page) => Promise<void>) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      const isMissing = message.text().includes('404'); // the missing page
      if (['error', 'warning'].includes(message.type()) && !isMissing)
        complaints.push(message.text());
    });
    page.on('pageerror', (fault) => complaints.push(String(fault)));
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== dashboard.url) complaints.push(request.url());
    });
    await signIn(page, dashboard.url);
    await act(page);
    await context.close();
    expect(complaints).toEqual([]);
  }

  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true } as const;
  const appearances: readonly (readonly [string, BrowserContextOptions])[] = [
    ['light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
    ['dark', { viewport: { width: 1200, height: 900 }, colorScheme: 'dark' }],
    ['a light phone', { ...phone, colorScheme: 'light' }],
    ['a dark phone', { ...phone, colorScheme: 'dark' }],
  ];

  test.each(appearances)('has no axe findings on any page in %s', async (what, options) => {
    const found: string[] = [];
    const examine = async (page: Page, path: string) => {
      await page.goto(dashboard.url + path);
      found.push(...(await complaintsOfAxe(page)).map((one) => `${path} ${one}`));
      const tooWide = await overflowOf(page);
      if (tooWide > 0) found.push(`${path} is ${tooWide} px too wide`);
    };
    const all = { ...options, reducedMotion: 'reduce' } as const;
    // In the quick run every page is checked in two appearances: light and dark, desktop and phone.
    const place = appearances.findIndex(([name]) => name === what);
    const seen = rowsOfRun(
      paths,
      (path) => (paths.indexOf(path) % 2 === 0) === (place === 0 || place === 3),
    );
    await signedIn(all, async (page) => {
      for (const path of seen) await examine(page, path);
      await page.goto('about:blank'); // an open page redirects to the sign-in and would cancel this navigation
      await page.context().clearCookies();
      await examine(page, '/');
    });
    expect(found).toEqual([]);
  });

  it('follows its policy, stays below 100 KB and never shifts, even on a slow device', async () => {
    await signedIn({}, async (page) => {
      // Relative times may change width, as with `9 s ago`; here the clock stands still.
      await page.addInitScript('Date.now = ((at) => () => at)(Date.now())');
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Emulation.setCPUThrottlingRate', {
        rate: sizeOfRun({ quick: 3, long: 12 }),
      });
      for (const path of paths) {
        await page.goto(dashboard.url + path, { waitUntil: 'load' });
        expect(await shiftsOf(page), path).toBe(0);
        expect(await octetsOf(page), path).toBeLessThan(100_000);
      }
    });
  });

  it('works by keyboard alone, from the sign-in to the removal', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const focused = () => focusedText(page);
    const tabTo = async (text: string) => {
      for (let presses = 0; (await focused()) !== text; presses += 1) {
        if (presses > 60) throw new Error(`no way to ${text} by the keyboard`);
        await page.keyboard.press('Tab');
      }
    };
    await page.goto(`${dashboard.url}/?then=${encodeURIComponent(`${project}/domains`)}`);
    await waitForFocus(page, '#key');
    await page.keyboard.type(API_KEY);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${project}/domains`);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await waitForFocus(page, '#main');
    await tabTo('Redirects');
    await page.keyboard.press('Tab');
    await page.keyboard.type('keys.shop.example');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/domains/keys.shop.example');
    await tabTo('More for keys.shop.example');
    await page.keyboard.press('Enter');
    await page.waitForSelector('details.menu[open]');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    expect(await page.locator('details.menu[open]').count()).toBe(0);
    expect(await focused()).toBe('More for keys.shop.example');
    await page.keyboard.press('Enter');
    await tabTo('Remove domain');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/remove');
    await tabTo('Remove keys.shop.example');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/domains?removed=keys.shop.example');
    expect(await page.textContent('.notice')).toContain('keys.shop.example was removed');
    await context.close();
  });

  it('works without JavaScript', async () => {
    await signedIn({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${dashboard.url}${project}/domains/www.shop.example`);
      const visible = (selector: string) => page.locator(selector).first().isVisible();
      expect(await visible('#task .task-head')).toBe(true);
      expect(await visible('#task time .exact')).toBe(true);
      expect(await visible('time .ago')).toBe(false);
      expect(await visible('button.copy')).toBe(false);
      expect(await visible('.watching')).toBe(false);
      await page.click('summary');
      await page.click('text=Remove domain');
      await page.waitForURL('**/www.shop.example/remove'); // the previous page has an h1, too
      expect(await page.textContent('h1')).toBe('Remove www.shop.example?');
      await page.goto(`${dashboard.url}${project}/domains`);
      await page.fill('#hostname', 'https://Without-Script.shop.example/');
      await page.click('button:has-text("Add domain")');
      await page.waitForURL('**/domains/without-script.shop.example');
    });
  });

  it('explains a name while it is typed, and copies the record', async () => {
    await signedIn({ permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
      await page.goto(`${dashboard.url}${project}/domains`);
      await page.fill('#hostname', 'HTTPS://Shop-Two.example/');
      await page.waitForSelector('#reading strong:text("shop-two.example")');
      await page.fill('#hostname', '*.shop.example');
      await page.waitForSelector('#reading .refused:has-text("A wildcard such as")');
      await page.goto(`${dashboard.url}${project}/domains/docs.shop.example`);
      await page.click('button[aria-label="Copy value"]');
      await page.waitForSelector('#spoken:text("Copied")', { state: 'attached' });
      const copied = await page.evaluate('navigator.clipboard.readText()');
      expect(copied).toMatch(/^[a-z2-7]{16}\.edge\.signpost\.test$/);
    });
  });
});
