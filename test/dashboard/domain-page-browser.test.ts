import { randomUUID } from 'node:crypto';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { type RunningDashboard, signIn, startDashboard } from './support/dashboard.ts';
import { cnameTo, everyLife, observationShowing, saveObservation } from './support/lives.ts';
import { focusedText } from './support/measures.ts';

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true } as const;

describe.skipIf(lacks('chromium', "a domain's page in a browser"))('The page of a domain', () => {
  let dashboard: RunningDashboard;
  let browser: Browser;
  let life: Awaited<ReturnType<typeof everyLife>>;

  beforeAll(async () => {
    dashboard = await startDashboard();
    browser = await startBrowser();
    life = await everyLife(dashboard);
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  async function at(label: string, options: BrowserContextOptions, act: (page: Page) => unknown) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const path = `/projects/${life.projectId}/domains/${label}.shop.example`;
    await signIn(page, dashboard.url, path);
    await act(page);
    await context.close();
  }

  it.each([
    ['docs', 'does not exist in the DNS yet'],
    ['split', 'has every change'],
    ['old', 'points to shops.elsewhere.example instead'],
  ])('shows a finding once, above its history: %s', (label, words) =>
    at(label, phone, async (page) => {
      // biome-ignore lint/performance/useDomNodeTextContent: closed details are not counted
      const [now = ''] = (await page.innerText('main')).split('Timeline');
      expect(now.split(words)).toHaveLength(2);
    }),
  );

  it('shows status, record and the change to make on the first screen of a phone', () =>
    at('docs', phone, async (page) => {
      for (const seen of ['.task-head', '#verify', '.change >> nth=-1', '.change .note']) {
        const box = await page.locator(seen).boundingBox();
        expect((box?.y ?? 9_999) + (box?.height ?? 0), seen).toBeLessThan(844);
      }
    }));

  it('explains why an order failed, with the CA’s text on demand', async () => {
    const hostname = 'blog.shop.example';
    const domainId = life.ids['blog'] ?? '';
    const order = {
      id: randomUUID(),
      domainId,
      hostname,
      status: 'failed',
      endedAt: new Date(),
    } as const;
    const problem = { type: 'caa', detail: 'urn:caa forbids' };
    await dashboard.signpost.service.database.prisma.certificate.create({
      data: { ...order, problem },
    });
    await at('blog', phone, async (page) => {
      await page.waitForSelector('#facts :text("found a CAA record that forbids")');
      const own = page.locator('#facts :text("urn:caa forbids (caa)")');
      expect(await own.isVisible()).toBe(false);
      await page.click('#more-of-certificate > summary');
      await own.waitFor();
    });
  });

  it('counts checks from the start, because its script relies on the number', () =>
    at('new', phone, async (page) => {
      expect(await page.textContent('[data-attempts="0"]')).toBe('0');
    }));

  it('opens details without JavaScript', () =>
    at('docs', { ...phone, javaScriptEnabled: false }, async (page) => {
      const server = page.locator('#facts dt:has-text("art.ns.cloudflare.com")');
      expect(await server.isVisible()).toBe(false);
      await page.click('#shown-by-servers > summary');
      await server.waitFor();
      await page.locator('#facts dt:text-is("Seen")').waitFor();
    }));

  it('keeps details open and focused during live updates', () =>
    at('docs', phone, async (page) => {
      await page.waitForSelector('[data-state="live"]');
      await page.focus('#evidence > summary');
      await page.keyboard.press('Shift+Tab');
      await page.keyboard.press('Tab');
      expect(await focusedText(page)).toBe('What the check found');
      await page.focus('#shown-by-servers > summary');
      await page.keyboard.press('Enter');
      await page.waitForSelector('#facts :text("NXDOMAIN")');
      const seen = observationShowing(
        'docs.shop.example',
        'shop.example',
        cnameTo('shops.elsewhere.example'),
      );
      await saveObservation(dashboard.signpost.service.database, life.ids['docs'] ?? '', seen);
      await page.waitForSelector('#facts :text("shops.elsewhere.example")');
      expect(await focusedText(page)).toContain('What each one shows');
    }));
});
