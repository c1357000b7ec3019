/** The customer's procedure by keyboard, on a phone, in dark mode, and without JavaScript. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { complaintsOfAxe } from '../dashboard/support/axe.ts';
import { overflowOf } from '../dashboard/support/measures.ts';
import { startBrowser, visit } from '../support/browser.ts';
import { type DashboardFixture, startDashboardFixture } from '../support/dashboard-fixture.ts';
import { byKeyboard, type PageDriver, pointing, withoutScript } from '../support/page-driver.ts';
import { wholeProcedure } from '../support/procedure.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { anyStorage } from '../support/storage.ts';

const phone: BrowserContextOptions = {
  viewport: { width: 360, height: 740 },
  isMobile: true,
  hasTouch: true,
};

type Way = readonly [name: string, driver: (page: Page) => PageDriver, BrowserContextOptions];
/** The cases in which axe is worth its time. */
const examined = ['phone', 'dark'];

const ways: readonly Way[] = [
  ['keyboard', byKeyboard, {}],
  ['phone', pointing, phone],
  ['dark', pointing, { ...phone, colorScheme: 'dark', reducedMotion: 'reduce' }],
  ['plain', withoutScript, { javaScriptEnabled: false }],
];

describe.skipIf(lacks('chromium', 'the procedure by keyboard, phone and without JavaScript'))(
  'the whole procedure',
  { timeout: 240_000 },
  () => {
    let fixture: DashboardFixture;
    let browser: Browser;
    beforeAll(async () => {
      fixture = await startDashboardFixture(anyStorage, 'local authority');
      browser = await startBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await fixture?.close();
    });

    // In the quick run other tests cover mouse, phone, dark mode and no JavaScript.
    it.each(rowsOfRun(ways, ([name]) => name === 'keyboard'))(
      '%s',
      async (name, driverOf, options) => {
        const { page, complaints, close } = await visit(browser, fixture.url, options);
        const found: string[] = [];
        const onState = async (state: string) => {
          const axe = examined.includes(name) ? await complaintsOfAxe(page) : [];
          found.push(...axe.map((one) => `${state} ${one}`));
          const tooWide = await overflowOf(page);
          if (tooWide > 0) found.push(`${state} is ${tooWide} px too wide`);
        };
        await wholeProcedure({ driver: driverOf(page), fixture, name, onState });
        await close();
        expect(found).toEqual([]);
        expect(complaints).toEqual([]);
      },
    );
  },
);
