/** Pages stay correct while others act, during an outage, and with hostile zone content. */
import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { complaintsOfAxe } from '../dashboard/support/axe.ts';
import { overflowOf } from '../dashboard/support/measures.ts';
import { startBrowser, type Visit, visit } from '../support/browser.ts';
import { type DashboardFixture, startDashboardFixture } from '../support/dashboard-fixture.ts';
import { type PageDriver, pointing } from '../support/page-driver.ts';
import { signIn } from '../support/procedure.ts';
import { lacks } from '../support/programs.ts';
import { isLongRun } from '../support/run.ts';
import { takePictures } from '../support/screenshots.ts';
import { anyStorage } from '../support/storage.ts';

const MARKUP = '"><img src=x onerror=alert(1)><script>alert(2)</script>';
const badge = (word: string) => `#head .badge:has-text("${word}")`;

describe.skipIf(lacks('chromium', 'two tabs, a restart and a hostile zone in a browser'))(
  'a page of the dashboard',
  { timeout: 240_000 },
  () => {
    let fixture: DashboardFixture;
    let browser: Browser;
    let visited: Visit;
    let page: Page;
    let driver: PageDriver;
    beforeAll(async () => {
      fixture = await startDashboardFixture(anyStorage, 'local authority');
      browser = await startBrowser();
    });
    beforeEach(async () => {
      visited = await visit(browser, fixture.url);
      page = visited.page;
      page.on('dialog', (dialog) => {
        visited.complaints.push(`dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      driver = pointing(page);
      await signIn({ driver, fixture, name: '' });
    });
    afterEach(() => visited?.close());
    afterAll(async () => {
      await browser?.close();
      await fixture?.close();
    });

    /** A pending domain and its open page, which receives events. */
    async function openDomain(owner: string, name = 'The shop') {
      const made = { name, slug: `shop-${randomUUID().slice(0, 8)}`, plan: 'pro' };
      const project = await fixture.call('POST', '/v1/projects', JSON.stringify(made));
      const { id } = (await project.json()) as { id: string };
      const deploy = JSON.stringify({ status: 'succeeded', upstream: fixture.upstream });
      await fixture.call('POST', `/v1/projects/${id}/deploys`, deploy);
      const hostname = `${owner}.${fixture.zone}`;
      const domains = `/projects/${id}/domains`;
      const added = await fixture.call('POST', `/v1${domains}`, JSON.stringify({ hostname }));
      const { record } = (await added.json()) as { record: { value: string } };
      await page.goto(`${fixture.url}${domains}/${hostname}`);
      await driver.see('[data-state="live"]');
      await driver.see('#task:has-text("does not exist in the DNS yet")');
      await driver.mark();
      return { hostname, target: record.value, domains: `${fixture.url}${domains}` };
    }

    it('follows actions in another tab', async () => {
      const { hostname, target, domains } = await openDomain('tabs');
      const other = pointing(await page.context().newPage());
      await other.page.goto(domains);
      await other.see('[data-state="live"]');
      await other.mark();
      const row = (text: string) => `[id="domain-${hostname}"]:has-text("${text}")`;

      await fixture.publish('tabs', `CNAME ${target}.`);
      await Promise.all([driver.see(badge('Live')), other.see(row('Live'))]);
      await Promise.all([driver.expectMarked(), other.expectMarked()]);
      // That page has no times to update.
      expect(await other.page.locator('#list time').count()).toBe(0);

      await driver.press(`More for ${hostname}`);
      await driver.press('Remove domain');
      await driver.press(`Remove ${hostname}`);
      await driver.see('.notice');
      await other.see('#list:has-text("No domains yet")');
      await other.expectMarked();
      await expect(fixture.visit(hostname)).rejects.toThrow();
      expect(visited.complaints).toEqual([]);
    });

    it('recovers after the service was restarted', async () => {
      const { hostname, target } = await openDomain('restart');
      await fixture.stop();
      await driver.see('[data-state="away"]:has-text("Reconnecting")');
      await fixture.publish('restart', `CNAME ${target}.`);
      await fixture.start();
      await driver.see(badge('Live'));
      await driver.see('[data-state="live"]:has-text("Up to date")');
      await driver.expectMarked();
      expect((await fixture.visit(hostname)).status).toBe(200);
      const other = visited.complaints.filter((one) => !/ERR_|Failed to load/.test(one));
      expect(other).toEqual([]);
    });

    const right = (target: string) => `CNAME ${target}.`;
    const zones: readonly {
      readonly owner: string;
      readonly at?: readonly string[];
      readonly says: (target: string) => readonly string[];
      readonly shown: string;
    }[] = [
      {
        owner: 'markup',
        says: () => ['CNAME <script>alert(1)</script>.<img/src=x/onerror=alert(2)>.test.'],
        shown: '<script>alert(1)</script>.<img/src=x/onerror=alert(2)>.test',
      },
      {
        owner: 'bidi',
        says: () => ['CNAME \\226\\128\\174moc.\\007\\027[31m.elsewhere.test.'],
        shown: '\\226\\128\\174moc',
      },
      {
        owner: 'long',
        says: () => [`CNAME ${`${'w'.repeat(63)}.`.repeat(3)}elsewhere.test.`],
        shown: 'w'.repeat(63),
      },
      {
        owner: 'text',
        says: () => ['A 192.0.2.7', `TXT "${MARKUP.replaceAll('"', '\\"')}"`],
        shown: '192.0.2.7',
      },
      {
        owner: 'caa',
        at: [
          'SOA <script>alert(1)</script> \\226\\128\\174host.<b>master 1 3600 600 86400 60',
          'CAA 0 issue "<script>alert(3)</script>\u202Emoc\u0007"',
        ],
        says: (target) => [right(target)],
        shown: '<script>alert(3)</script>\\226\\128\\174moc\\007',
      },
    ];

    it.each(zones)('shows zone content as escaped text: $owner', async (zone) => {
      const { owner, at = [], says, shown } = zone;
      const { target } = await openDomain(owner, MARKUP);
      await fixture.publish('@', ...at);
      await fixture.publish(owner, ...says(target));
      await driver.see(`#task:has-text(${JSON.stringify(shown)})`);
      if (owner === 'markup') await takePictures(page, 'hostile');
      expect(await page.locator(':is(#main, title) :is(script, img, b)').count()).toBe(0);
      expect(await page.textContent('#main')).not.toMatch(/[\p{Cf}\p{Co}]|(?![\n\t])\p{Cc}/u);
      expect(await page.textContent('.crumbs')).toContain(MARKUP);
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await overflowOf(page)).toBe(0);
        // axe examines the page's structure, which is the same for all zone content.
        if (isLongRun || owner === 'text') expect(await complaintsOfAxe(page)).toEqual([]);
      }
      await driver.expectMarked();
      // Not earlier: without these lines the domain goes live and the page no longer shows them.
      await fixture.publish('@');
      expect(visited.complaints).toEqual([]);
    });
  },
);
