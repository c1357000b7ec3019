/** The customer's procedure in a real browser while the DNS changes. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser, visit } from '../support/browser.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startDashboardFixture } from '../support/dashboard-fixture.ts';
import { pointing } from '../support/page-driver.ts';
import { wholeProcedure } from '../support/procedure.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { takePictures } from '../support/screenshots.ts';
import { type StorageName, storages } from '../support/storage.ts';
import type { CaKind } from '../support/world.ts';

type Row = { readonly storage: StorageName; readonly ca: CaKind };
const setups: readonly Row[] = [
  { storage: 'embedded', ca: 'local authority' },
  { storage: 'postgres_redis', ca: 'Pebble' },
];
const isThere = ({ storage, ca }: Row): boolean =>
  storages.some(({ name, available }) => name === storage && available) &&
  !(ca === 'Pebble' && lacks('pebble', 'the customer’s procedure with Pebble'));

describe.skipIf(lacks('chromium', 'the customer’s procedure in a browser'))(
  'a customer publishes a project under a custom domain in the dashboard',
  { timeout: 240_000 },
  () => {
    let browser: Browser;
    const closings = closeAfterEach();
    beforeAll(async () => {
      browser = await startBrowser();
    });
    afterAll(() => browser?.close());

    it.each(rowsOfRun(setups, ({ storage }) => storage === 'embedded').filter(isThere))(
      'on $storage, certified by $ca',
      async ({ storage, ca }) => {
        const fixture = await startDashboardFixture(storage, ca);
        closings.push(fixture.close);
        const { page, complaints, close } = await visit(browser, fixture.url);
        closings.push(close);
        const onState = (state: string) => takePictures(page, state);
        await onState('sign-in');
        await wholeProcedure({ driver: pointing(page), fixture, name: 'shop', onState });
        expect(complaints).toEqual([]);
      },
    );
  },
);
