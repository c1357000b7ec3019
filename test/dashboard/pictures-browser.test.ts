/** A picture of every state in `test-artifacts/screenshots/`: phone and desktop, light and dark. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { takePictures } from '../support/screenshots.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { everyState } from './support/states.ts';

const patience = { timeout: 240_000 };

describe.skipIf(lacks('chromium', 'pictures of the pages'))('A picture', patience, () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let page: Page;
  let project: string;
  let pages: ReadonlyMap<string, string>;

  beforeAll(async () => {
    dashboard = await startDashboard();
    ({ project, pages } = await everyState(dashboard));
    browser = await startBrowser();
    page = await browser.newPage();
    await picture('/', 'sign-in');
    await signIn(page, dashboard.url, '/projects');
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  async function picture(path: string, name: string): Promise<void> {
    await page.goto(dashboard.url + path);
    await page.waitForSelector('main');
    await takePictures(page, name);
  }

  it('of the lists, adding and settings shows the whole page', async () => {
    await picture('/projects', 'projects');
    await picture(`${project}/domains`, 'domains');
    await picture(`${project}/domains?search=example`, 'domains-search');
    await picture(`${project}/domains?search=nothing-here`, 'domains-none');
    await picture(`${project}/add?hostname=shop.example`, 'add-pair');
    await picture(`${project}/settings`, 'settings');
    await picture(`${pages.get('live')}/remove`, 'remove');
    await picture('/ops', 'ops');
    await picture('/nothing', 'not-found');
  });

  it('of a domain has the badge of its state', async () => {
    for (const [state, path] of pages) {
      await picture(path, `domain-${state}`);
      expect(await page.textContent('.head .badge'), state).toBe(badges[state]);
    }
  });
});

const badges: Readonly<Record<string, string>> = {
  new: 'Waiting for DNS',
  missing: 'Action needed',
  action: 'Action needed',
  changed: 'Action needed',
  waiting: 'Waiting for DNS',
  unknown: 'Waiting for DNS',
  caa: 'Action needed',
  verified: 'Getting certificate',
  live: 'Live',
  suspected: 'Action needed',
  drifted: 'Needs attention',
  failed: 'Failed',
  apex: 'Action needed',
  proxied: 'Action needed',
  providers: 'Action needed',
  expired: 'Needs attention',
  plan: 'Action needed',
  long: 'Action needed',
};
