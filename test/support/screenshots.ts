/** What pages looked like in a run of the tests, for people to look at: `test-artifacts/screenshots/`. */
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const folder = fileURLToPath(new URL('../../test-artifacts/screenshots/', import.meta.url));
const desktop = { width: 1280, height: 900 };

const looks = [
  ['phone', { width: 390, height: 844 }, 'light'],
  ['dark', desktop, 'dark'],
  ['light', desktop, 'light'],
] as const;

/** The whole page, in each look. The page stays what it is, and is light and wide afterwards. */
export async function takePictures(page: Page, name: string): Promise<void> {
  for (const [look, viewport, colorScheme] of looks) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const path = `${folder}${name}.${look}.png`;
    await page.screenshot({ path, fullPage: true, animations: 'disabled' });
  }
}
