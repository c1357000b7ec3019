import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import {
  issueCertificate,
  nothing,
  observationShowing,
  putOff,
  rightObservation,
  saveObservation,
} from './support/lives.ts';
import { focusedText } from './support/measures.ts';

const zone = 'shop.example';

describe.skipIf(lacks('chromium', 'the live pages in a browser'))('A live page', () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let projectId: string;
  let asked: string[];
  let count = 0;

  beforeAll(async () => {
    dashboard = await startDashboard();
    browser = await startBrowser();
    projectId = await dashboard.aProject();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  });
  afterEach(() => context?.close());
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  /** The open, connected page of a domain without its record. */
  async function aPendingPage() {
    count += 1;
    const hostname = `live${count}.${zone}`;
    await dashboard.api('POST', `/v1/projects/${projectId}/domains`, { hostname });
    const { database } = dashboard.signpost.service;
    const { id, target } = await database.prisma.domain.findFirstOrThrow({ where: { hostname } });
    await saveObservation(database, id, observationShowing(hostname, zone, nothing));
    await putOff(database, id);
    const path = `/projects/${projectId}/domains/${hostname}`;
    await signIn(page, dashboard.url, path);
    await page.waitForSelector('[data-state="live"]');
    await page.evaluate('globalThis.isTheSamePage = true');
    return { database, hostname, id, target, path };
  }

  const isTheSamePage = () => page.evaluate('globalThis.isTheSamePage === true');

  it('loses a finding and turns live without a reload', async () => {
    const { database, hostname, id, target } = await aPendingPage();
    await page.waitForSelector('#task:has-text("does not exist in the DNS yet")');
    expect(await page.locator('#task .change[data-tone="warn"]').count()).toBe(1);
    await saveObservation(database, id, rightObservation(hostname, zone, target));
    await page.waitForSelector('#head .badge:has-text("Getting certificate")');
    expect(await page.locator('#task .change[data-tone="warn"]').count()).toBe(0);
    await issueCertificate(database, id);
    await page.waitForSelector('#head .badge:has-text("Live")');
    await page.waitForSelector('#timeline:has-text("Certificate issued")');
    expect(await page.title()).toContain(`${hostname}: live`);
    expect(await page.textContent('#spoken')).toContain(`${hostname}: Live. Live.`);
    expect(await isTheSamePage()).toBe(true);
  });

  it('updates its times after an unchanged check without a request', async () => {
    const { database, id } = await aPendingPage();
    await saveObservation(database, id, null);
    await page.waitForSelector('[data-attempts="2"]');
    asked.length = 0;
    await saveObservation(database, id, null);
    await page.waitForSelector('[data-attempts="3"]');
    const { lastCheckedAt } = await database.prisma.domain.findUniqueOrThrow({ where: { id } });
    expect(await page.getAttribute('#facts time[data-of="last-check"]', 'datetime')).toBe(
      lastCheckedAt?.toISOString(),
    );
    expect(asked).toEqual([]);
  });

  it('keeps the focus and an open menu', async () => {
    const { database, hostname, id, target } = await aPendingPage();
    await page.click('#menu > summary');
    await page.focus('#verify');
    await saveObservation(database, id, rightObservation(hostname, zone, target));
    await page.waitForSelector('#head .badge:has-text("Getting certificate")');
    expect(await page.locator('#menu[open]').count()).toBe(1);
    await page.waitForSelector('#task:has-text("Getting the certificate")');
    expect(await focusedText(page)).toBe('Check now');
  });

  it('shows changes of a domain in the list, too', async () => {
    const { database, hostname, id, target } = await aPendingPage();
    await page.goto(`${dashboard.url}/projects/${projectId}/domains`);
    await page.waitForSelector('[data-state="live"]');
    await page.fill('#hostname', 'half-typed');
    await saveObservation(database, id, rightObservation(hostname, zone, target));
    await page.waitForSelector(`[id="domain-${hostname}"]:has-text("Getting the certificate")`);
    expect(await page.inputValue('#hostname')).toBe('half-typed');
  });

  it('recovers after its stream was cut off', async () => {
    const { database, hostname, id, target } = await aPendingPage();
    await context.setOffline(true);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))");
    await saveObservation(database, id, rightObservation(hostname, zone, target));
    await context.setOffline(false);
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.waitForSelector('#head .badge:has-text("Getting certificate")');
    expect(await isTheSamePage()).toBe(true);
  });

  it('recovers after a restart of the service', async () => {
    const { hostname, id, target } = await aPendingPage();
    await saveObservation(
      dashboard.signpost.service.database,
      id,
      rightObservation(hostname, zone, target),
    );
    await page.waitForSelector('#head .badge:has-text("Getting certificate")');
    await dashboard.restart();
    await issueCertificate(dashboard.signpost.service.database, id);
    await page.waitForSelector('#head .badge:has-text("Live")');
    await page.waitForSelector('[data-state="live"]');
    expect(await isTheSamePage()).toBe(true);
  });

  it('goes to the sign-in, and back, when the session ends', async () => {
    const { database, hostname, id, target, path } = await aPendingPage();
    await context.clearCookies();
    await saveObservation(database, id, rightObservation(hostname, zone, target));
    await page.waitForURL(`${dashboard.url}/?then=${encodeURIComponent(path)}`);
    expect(await page.textContent('h1')).toBe('Sign in');
  });

  it('reports the removal of its domain', async () => {
    const { hostname } = await aPendingPage();
    await dashboard.api('DELETE', `/v1/projects/${projectId}/domains/${hostname}`);
    await page.waitForSelector(`h2:text-is("${hostname} was removed")`);
    await page.waitForSelector('.timeline:has-text("Removed; traffic stopped")');
  });
});
