/** Two customers in two browsers, and an operator in a third: whose things each sees, and where a session ends. */
import type { Browser, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, type Visit, visit } from '../support/browser.ts';
import { closeAfterAll } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { takePictures } from '../support/screenshots.ts';
import { complaintsOfAxe } from './support/axe.ts';
import { API_KEY, type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { overflowOf } from './support/measures.ts';

type Customer = Visit & { readonly id: string; readonly key: string; readonly project: string };

describe.skipIf(lacks('chromium', 'two customers in two browsers'))('two customers', () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let [one, two]: Customer[] = [];
  const closings = closeAfterAll();
  beforeAll(async () => {
    dashboard = await startDashboard();
    closings.push(dashboard.close);
    browser = await startBrowser();
    closings.push(() => browser.close());
    [one, two] = [await customer('Example Shop'), await customer('Another Shop')];
  }, 180_000);

  /** An account with a project that has a domain, and a browser that is signed in with its key. */
  async function customer(name: string): Promise<Customer> {
    const { api, url } = dashboard;
    const { id } = await api<{ id: string }>('POST', '/v1/accounts', { name });
    const keyOf = { name: `${name}: admin`, scopes: ['admin'], accountId: id };
    const { key } = await api<{ key: string }>('POST', '/v1/keys', keyOf);
    const call = (path: string, body: object) =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then((answer) => answer.json() as Promise<{ id: string }>); // our API's documented shape
    const made = await call('/v1/projects', { name: `${name}’s site`, slug: 'site', plan: 'pro' });
    const project = `/projects/${made.id}`;
    await call(`/v1${project}/deploys`, {
      status: 'succeeded',
      upstream: 'https://deploy.example/',
    });
    await call(`/v1${project}/domains`, { hostname: `www.${slugOf(name)}.example` });
    const visited = await visit(browser, url);
    await signIn(visited.page, url, '/projects', key);
    return { ...visited, id, key, project };
  }

  const slugOf = (name: string) => name.toLowerCase().replaceAll(' ', '-');
  const mainOf = (page: Page) => page.locator('main').textContent();

  /** Shown at every width without overflow, and with nothing that a screen reader stumbles over. */
  async function isSound(page: Page, name: string): Promise<void> {
    expect(await complaintsOfAxe(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await overflowOf(page)).toBe(0);
    await takePictures(page, name);
  }

  it('each see their own projects and domains, and no other', async () => {
    if (one === undefined || two === undefined) throw new Error('both are signed in');
    expect(await mainOf(one.page)).toContain('Example Shop’s site');
    expect(await mainOf(one.page)).not.toContain('Another Shop');
    expect(await mainOf(two.page)).toContain('Another Shop’s site');
    await two.page.goto(`${dashboard.url}${two.project}/domains`);
    expect(await mainOf(two.page)).toContain('www.another-shop.example');
    expect(await two.page.locator('header a[href="/ops"]').count()).toBe(0);
    await two.page.goto(`${dashboard.url}/projects`);
    await isSound(two.page, 'accounts-projects-of-one');
  });

  it('find at an address of the other’s the page of one that never existed', async () => {
    if (one === undefined || two === undefined) throw new Error('both are signed in');
    const never = '/projects/00000000-0000-4000-8000-000000000009';
    const below = ['/domains', '/settings', '/domains/www.example-shop.example', '/events'];
    for (const path of [...below, '/domains/www.example-shop.example/remove']) {
      const seen = [];
      for (const project of [one.project, never]) {
        const answer = await two.page.goto(dashboard.url + project + path);
        seen.push([answer?.status(), await two.page.locator('body').textContent()]);
      }
      expect(seen[0]).toEqual(seen[1]);
      expect(seen[0]?.[0]).toBe(404);
    }
  });

  it('are signed in by a cookie that a browser without Secure over HTTP keeps, too', async () => {
    const cookies = await one?.page.context().cookies();
    expect(cookies).toMatchObject([
      { name: 'signpost', secure: false, httpOnly: true, sameSite: 'Lax', path: '/' },
    ]);
  });

  it('end each other’s session by no way, and their own in every tab and every copy', async () => {
    if (one === undefined || two === undefined) throw new Error('both are signed in');
    const { url } = dashboard;
    const context = one.page.context();
    const [{ name = '', value = '' } = {}] = await context.cookies();
    const second = await context.newPage();
    await second.goto(`${url}${one.project}/domains`);
    await second.waitForSelector('[data-state="live"]');
    const headers = { cookie: `${name}=${value}` };
    const stream = await fetch(`${url}${one.project}/events`, { headers });
    const read = stream.text(); // ends when the session does
    await one.page.goto(`${url}/sessions`);
    await isSound(one.page, 'accounts-sessions');
    await one.page.click('header button:has-text("Sign out")');
    await one.page.waitForSelector('h1:has-text("Sign in")');
    await read;
    const copy = await fetch(`${url}/projects`, { headers, redirect: 'manual' });
    expect([copy.status, copy.headers.get('location')]).toEqual([303, '/?then=%2Fprojects']);
    await second.waitForSelector('h1:has-text("Sign in")');
    await two.page.goto(`${url}/projects`);
    expect(await mainOf(two.page)).toContain('Another Shop’s site');
    expect(two.complaints.filter((one) => !one.includes('404'))).toEqual([]);
  });

  it('are seen by an operator, who chooses one of them and leaves it', async () => {
    const { url } = dashboard;
    const { page, complaints, close } = await visit(browser, url);
    closings.push(close);
    await signIn(page, url, '/projects', API_KEY);
    const both = await mainOf(page);
    for (const name of ['Example Shop’s site', 'Another Shop’s site']) expect(both).toContain(name);
    await takePictures(page, 'accounts-projects-of-all');
    await page.click('header a:has-text("All accounts")');
    await isSound(page, 'accounts-list');
    await page.click('[aria-label="Switch to Example Shop"]');
    await page.waitForSelector('aside:has-text("You act for Example Shop.")');
    expect(await mainOf(page)).not.toContain('Another Shop');
    await isSound(page, 'accounts-chosen');
    await page.goto(`${url}/ops`);
    await isSound(page, 'accounts-ops-of-one');
    await page.click('main button:has-text("Show all accounts")');
    await page.waitForSelector('h1:has-text("Operations")');
    await page.click('header a:has-text("All accounts")');
    await page.click('main a:has-text("Another Shop")');
    await page.fill('#name', 'For their deploys');
    await isSound(page, 'accounts-one');
    await page.click('button:has-text("Create key")');
    await page.waitForSelector('[data-copy^="signpost_"]');
    await isSound(page, 'accounts-key');
    expect(complaints.filter((one) => !one.includes('403'))).toEqual([]);
  });
});
