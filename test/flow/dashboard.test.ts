/** The customer's procedure in a real browser, as the service interface tells it, while the DNS changes under it. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, visit } from '../support/browser.ts';
import { closeAfterEach } from '../support/closings.ts';
import { pointing } from '../support/hands.ts';
import { startHouse } from '../support/house.ts';
import { wholeProcedure } from '../support/procedure.ts';
import { lacks } from '../support/programs.ts';
import { takePictures } from '../support/screenshots.ts';
import { storages } from '../support/storage.ts';

const { available } = storages.find(({ name }) => name === 'postgres_redis') ?? {};

describe.skipIf(lacks('chromium', 'the customer’s procedure in a browser'))(
  'a customer publishes a project under an own domain in the dashboard',
  { timeout: 240_000 },
  () => {
    let browser: Browser;
    const closings = closeAfterEach();
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser?.close());

    it('on the embedded storage, certified by the local authority', async () => {
      const house = await startHouse('embedded', 'local authority');
      closings.push(house.close);
      const { page, complaints, close } = await visit(browser, house.url);
      closings.push(close);
      await takePictures(page, 'sign-in');
      const lookAt = (state: string) => takePictures(page, state);
      await wholeProcedure({ hands: pointing(page), house, name: 'shop', lookAt });
      expect(complaints).toEqual([]);
    });

    it.skipIf(!available || lacks('pebble', 'the customer’s procedure with Pebble'))(
      'on PostgreSQL and Redis, certified by Pebble',
      async () => {
        const house = await startHouse('postgres_redis', 'Pebble');
        closings.push(house.close);
        const { page, complaints, close } = await visit(browser, house.url);
        closings.push(close);
        await wholeProcedure({ hands: pointing(page), house, name: 'shop' });
        expect(complaints).toEqual([]);
      },
    );
  },
);
