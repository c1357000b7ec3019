import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { recordEvents } from '../../../src/db/events.ts';
import { type Signpost, startSignpost } from '../../../src/start.ts';
import { storageOf } from '../../process/support.ts';
import { startBrowser, type Visit, visit } from '../../support/browser.ts';
import { noon } from '../../support/builders.ts';
import { lacks } from '../../support/programs.ts';

const KEY = 'a-key-to-try-the-page-with';
/** 2^53 + 1: the first whole number that a double cannot hold. */
const BIG = '9007199254740993';

describe.skipIf(lacks('chromium', 'the pages below /docs in a browser'))(
  'In a browser, the docs page',
  () => {
    let fresh: Awaited<ReturnType<typeof storageOf>>;
    let signpost: Signpost;
    let browser: Browser;
    let url: string;

    beforeAll(async () => {
      fresh = await storageOf();
      const env = { ...fresh.env, PORT: '0', API_KEY: KEY };
      const loaded = loadConfig({ ...env, EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
      signpost = await startSignpost(loaded.config, pino({ level: 'silent' }));
      const rex = { id: BigInt(BIG), name: 'Rex "the {first}", [1]', categoryId: -(2n ** 63n) };
      await signpost.service.database.prisma.pet.create({ data: rex });
      url = `${signpost.addresses.http}/docs/pets`;
      browser = await startBrowser();
    });

    afterAll(async () => {
      await browser?.close();
      await signpost?.close(5_000);
      await fresh?.close();
    });

    /** Opens the page and expects no error and requests to this service only. */
    async function at(
      options: Parameters<typeof visit>[2],
      act: (visited: Visit) => Promise<void>,
    ): Promise<void> {
      const visited = await visit(browser, url, options);
      await act(visited);
      expect(visited.complaints).toEqual([]);
      const origins = new Set(visited.asked.map((one) => new URL(one).origin));
      origins.delete('null'); // the icon in the page
      expect([...origins]).toEqual([new URL(url).origin]);
      await visited.close();
    }

    const answer = (operationId: string) => `#${operationId} .answer > pre`;
    const sendWithKey = async ({ page }: Visit, operationId: string) => {
      await page.fill('#key', KEY);
      await page.click(`#${operationId} button:text("Send")`);
      await page.waitForSelector(answer(operationId));
    };

    it('opens without a policy violation or an error', () =>
      at({}, async ({ page }) => {
        expect(await page.title()).toBe('Pets · Signpost API');
        expect(await page.locator('form.try:visible').count()).toBe(3);
      }));

    it('lists pets with exact ids', () =>
      at({}, async (visited) => {
        const { page } = visited;
        await sendWithKey(visited, 'listPets');
        const sent = `[{"id":${BIG},"name":"Rex \\"the {first}\\", [1]","categoryId":-9223372036854775808,"status":"available"}]`;
        expect(await page.textContent(answer('listPets'))).toBe(sent);
        expect(await page.textContent('#listPets .answer')).toContain('200');
        expect(await page.textContent('#listPets .answer details')).toContain('x-request-id: ');
        await page.click('#listPets button:text("Indent")');
        const indented = (await page.textContent(answer('listPets'))) ?? '';
        expect(indented.split('\n').slice(0, 4)).toEqual([
          '[',
          '  {',
          `    "id": ${BIG},`,
          '    "name": "Rex \\"the {first}\\", [1]",',
        ]);
        await page.click('#listPets button:text("As sent")');
        expect(await page.textContent(answer('listPets'))).toBe(sent);
      }));

    it('sends the values of its fields', () =>
      at({}, async (visited) => {
        const { page, asked } = visited;
        await page.fill('#listPets-limit', '1');
        await page.selectOption('#listPets-status', 'sold');
        await sendWithKey(visited, 'listPets');
        expect(asked.at(-1)).toBe(url.replace('/docs/pets', '/v1/pets?limit=1&status=sold'));
        expect(await page.textContent(answer('listPets'))).toBe('[]');
        await page.fill('#getPet-petId', BIG);
        await sendWithKey(visited, 'getPet');
        expect(asked.at(-1)).toBe(url.replace('/docs/pets', `/v1/pets/${BIG}`));
      }));

    it('adds a pet with an exact category', () =>
      at({}, async (visited) => {
        const { page } = visited;
        await page.fill('#createPet-body', `{"name": "Tom", "categoryId": ${BIG}}`);
        await page.fill('#createPet-Idempotency-Key', 'once');
        await sendWithKey(visited, 'createPet');
        const added = await page.textContent(answer('createPet'));
        expect(added).toMatch(
          new RegExp(`^\\{"id":\\d+,"name":"Tom","categoryId":${BIG},"status":"available"\\}$`),
        );
        await page.click('#createPet button:text("Send")');
        await page.waitForSelector('#createPet details:has-text("idempotency-replayed")');
        expect(await page.textContent(answer('createPet'))).toBe(added);
      }));

    it('shows a stream as it arrives, until stopped', async () => {
      const { prisma } = signpost.service.database;
      const project = await prisma.project.create({
        data: { id: randomUUID(), name: 'Docs', slug: 'docs', plan: 'pro' },
      });
      const visited = await visit(browser, url.replace('pets', 'events'));
      const { page } = visited;
      await page.fill('#streamEvents-projectId', project.id);
      await sendWithKey(visited, 'streamEvents');
      await page.waitForSelector(`${answer('streamEvents')}:has-text("id: 0")`);
      const { id } = await prisma.domain.create({
        data: {
          id: randomUUID(),
          projectId: project.id,
          hostname: 'docs.shop.test',
          target: 'x.edge.signpost.test',
          status: 'failed',
          pendingSince: noon,
          addedAt: noon,
        },
      });
      await recordEvents(
        prisma,
        [{ type: 'domain.live', issuer: 'Local', expiresAt: noon, domainId: id }],
        noon,
      );
      await page.waitForSelector(`${answer('streamEvents')}:has-text("event: domain.live")`);
      await page.click('#streamEvents button:text("Stop")');
      await page.waitForSelector('#streamEvents button:text("Send"):enabled');
      expect(await page.locator('#streamEvents .bad').count()).toBe(0);
      expect(visited.complaints).toEqual([]);
      await visited.close();
    });

    it('shows an error as it was sent', async () => {
      const visited = await visit(browser, url);
      await visited.page.click('#listPets button:text("Send")');
      await visited.page.waitForSelector(answer('listPets'));
      expect(await visited.page.textContent('#listPets .answer .bad')).toContain('401');
      expect(await visited.page.textContent(answer('listPets'))).toContain('"code":"unauthorized"');
      // The browser logs each 4xx response; nothing else may be logged.
      await expect
        .poll(() => visited.complaints, { timeout: 60_000 })
        .toEqual([expect.stringContaining('status of 401')]);
      await visited.close();
    });

    it('keeps the key in this tab and out of every URL', () =>
      at({}, async (visited) => {
        const { page, asked } = visited;
        await sendWithKey(visited, 'listPets');
        expect([page.url(), ...asked].filter((one) => one.includes(KEY))).toEqual([]);
        const kept = await page.evaluate(
          '[sessionStorage.length, localStorage.length, document.cookie]',
        );
        expect(kept).toEqual([1, 0, '']);
        await page.reload();
        expect(await page.inputValue('#key')).toBe(KEY);
      }));

    it('is readable without JavaScript', () =>
      at({ javaScriptEnabled: false }, async ({ page }) => {
        expect(await page.locator('article').count()).toBe(3);
        expect(await page.locator('#createPet').textContent()).toContain('categoryId');
        expect(await page.locator('form:visible').count()).toBe(0);
        await page.click('nav >> text="Get one pet"');
        await page.waitForURL(`${url}#getPet`);
        await page.click('nav >> text="Add a domain"');
        await page.waitForURL(url.replace('pets', 'domains#addDomain'));
        expect(await page.locator('#addDomain').textContent()).toContain('hostname');
        await page.click('nav >> text="Errors"');
        await page.waitForURL(url.replace('/pets', '/errors#errors'));
      }));

    it('fits a phone', () =>
      at({ viewport: { width: 360, height: 740 } }, async (visited) => {
        await sendWithKey(visited, 'listPets');
        const widest = await visited.page.evaluate('document.documentElement.scrollWidth');
        expect(widest).toBe(360);
      }));

    it('works with a keyboard and a screen reader', () =>
      at({}, async ({ page }) => {
        await page.keyboard.press('Tab');
        expect(await page.evaluate('document.activeElement.textContent')).toBe(
          'Skip to the content',
        );
        await page.keyboard.press('Enter');
        await page.waitForURL(`${url}#main`);
        for (const landmark of ['banner', 'navigation', 'main'] as const) {
          expect(await page.getByRole(landmark).count(), landmark).toBe(1);
        }
        const unlabeled = `[...document.querySelectorAll('input, select, textarea')].filter((one) => one.labels.length !== 1).length`;
        expect(await page.evaluate(unlabeled)).toBe(0);
        await page.getByRole('form', { name: 'Try listPets' }).getByLabel('limit').fill('7');
        expect(await page.inputValue('#listPets-limit')).toBe('7');
      }));

    it.each(['light', 'dark'] as const)('has enough contrast in the %s', (colorScheme) =>
      at({ colorScheme }, async ({ page }) => {
        // WCAG 2.2, 1.4.3: at least 4.5 to 1.
        expect(await page.evaluate(worstContrast)).toBeGreaterThanOrEqual(4.5);
      }),
    );
  },
);

/** Runs in the page: the lowest contrast of any text with its background. */
const worstContrast = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    const color = channels(getComputedStyle(element).backgroundColor);
    return color[3] === 0 && element.parentElement ? behind(element.parentElement) : color;
  };
  const ratios = [...document.querySelectorAll('body *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
    .map((element) => [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))])
    .map(([text, ground]) => (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05));
  return Math.min(...ratios);
})()`;
