/** HTTP/1.1 allows six connections per host, and each page may listen. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { sizeOfRun } from '../support/run.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import {
  nothing,
  observationShowing,
  putOff,
  rightObservation,
  saveObservation,
} from './support/lives.ts';

const zone = 'shop.example';
/** Four can have streams, so the fifth has none. */
const WINDOWS = sizeOfRun({ quick: 5, long: 8 });
const ALIKE = sizeOfRun({ quick: 3, long: 8 });
const long = { timeout: 240_000 }; // eight windows open one after the other

describe.skipIf(lacks('chromium', 'many windows of a browser'))('Of many windows', long, () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let context: BrowserContext;
  let projectId: string;
  let count = 0;

  beforeAll(async () => {
    dashboard = await startDashboard();
    browser = await startBrowser();
    projectId = await dashboard.aProject();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    const first = await context.newPage();
    await signIn(first, dashboard.url);
    await first.close();
  });
  afterEach(() => context?.close());
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  async function aPendingDomain() {
    count += 1;
    const hostname = `many${count}.${zone}`;
    await dashboard.api('POST', `/v1/projects/${projectId}/domains`, { hostname });
    const { database } = dashboard.signpost.service;
    const { id, target } = await database.prisma.domain.findFirstOrThrow({ where: { hostname } });
    await saveObservation(database, id, observationShowing(hostname, zone, nothing));
    await putOff(database, id);
    const turn = () => saveObservation(database, id, rightObservation(hostname, zone, target));
    return { turn, url: `${dashboard.url}/projects/${projectId}/domains/${hostname}` };
  }

  const isVerified = (page: Page) =>
    page.waitForSelector('#head .badge:has-text("Getting certificate")').then(() => true);

  /** Simulates visibility, because a test browser has no hidden windows. */
  const setHidden = (page: Page, isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
      document.dispatchEvent(new Event('visibilitychange'))`);

  it('all visible ones of one page are updated over one stream', async () => {
    const { turn, url } = await aPendingDomain();
    let streams = 0;
    context.on('request', (request) => {
      if (new URL(request.url()).pathname.endsWith('/events')) streams += 1;
    });
    const windows: Page[] = [];
    for (let n = 0; n < ALIKE; n += 1) {
      const page = await context.newPage();
      await page.goto(url);
      await page.waitForSelector('[data-state="live"]');
      windows.push(page);
    }
    expect(streams).toBe(1);
    // Another window takes over its stream.
    await windows.shift()?.close();
    await turn();
    await Promise.all(windows.map(isVerified));
    expect(streams).toBe(2);
  });

  it('all are updated on different pages, although only four have a stream', async () => {
    const opened: { readonly page: Page; readonly turn: () => Promise<void> }[] = [];
    for (let n = 0; n < WINDOWS; n += 1) {
      const { turn, url } = await aPendingDomain();
      const page = await context.newPage();
      await page.clock.install({ time: new Date() });
      await page.goto(url);
      await page.waitForSelector(`[data-state="${n < 4 ? 'live' : 'slow'}"]`);
      opened.push({ page, turn });
    }
    const [closed, ...seen] = opened;
    await closed?.page.close();
    for (const { page, turn } of seen) {
      await turn();
      await page.clock.fastForward(10_000);
      await isVerified(page);
    }
    const watching = async () => {
      for (const { page } of seen) await page.clock.fastForward(10_000);
      const states = seen.map(({ page }) => page.getAttribute('#liveness', 'data-state'));
      return (await Promise.all(states)).filter((state) => state === 'live').length;
    };
    // Another window gets the freed connection as soon as the browser has it back.
    await expect.poll(watching, { timeout: 60_000 }).toBe(4);
  });

  it('hidden ones hold no connection and catch up once visible', async () => {
    await context.addInitScript(
      "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })",
    );
    const windows: { readonly page: Page; readonly turn: () => Promise<void> }[] = [];
    for (let n = 0; n < ALIKE; n += 1) {
      const { turn, url } = await aPendingDomain();
      const page = await context.newPage();
      await page.goto(url);
      windows.push({ page, turn });
    }
    for (const { turn } of windows) await turn();
    for (const { page } of windows) {
      await setHidden(page, false);
      await isVerified(page);
      await page.close();
    }
  });

  it('one that was hidden for ten seconds closes its connection', async () => {
    const { turn, url } = await aPendingDomain();
    const page = await context.newPage();
    await page.clock.install();
    let ended = 0;
    page.on('requestfailed', (request) => {
      if (request.url().includes('/events')) ended += 1;
    });
    await page.goto(url);
    await page.waitForSelector('[data-state="live"]');
    // Only the test advances its clock.
    await page.clock.pauseAt(new Date(Date.now() + 60_000));
    await setHidden(page, true);
    await page.clock.fastForward(5_000);
    expect(ended).toBe(0);
    await page.clock.fastForward(10_000);
    await expect.poll(() => ended, { timeout: 60_000 }).toBe(1);
    await page.clock.resume();
    await turn();
    await setHidden(page, false);
    await isVerified(page);
  });

  it('each reloads once a second at most, and always after the last change', async () => {
    const { url } = await aPendingDomain();
    const page = await context.newPage();
    await page.clock.install({ time: new Date() });
    await page.goto(url);
    await page.waitForSelector('[data-state="live"]');
    await page.clock.pauseAt(new Date(Date.now() + 60_000));
    let asked = 0;
    page.on('request', (request) => {
      if (request.url() === url) asked += 1;
    });
    await page.evaluate(`import(document.querySelector('link[href*="/refresh-"]').href).then(async ({ refresh }) => {
      await refresh();
      globalThis.asking = [refresh(), refresh(), refresh()];
    })`);
    expect(asked).toBe(1);
    await page.clock.runFor(1_000);
    expect(await page.evaluate('Promise.all(globalThis.asking)')).toEqual([true, true, true]);
    expect(asked).toBe(2);
    await page.clock.runFor(5_000);
    expect(asked).toBe(2);
  });
});
