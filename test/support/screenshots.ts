/** Page screenshots for people: `test-artifacts/screenshots/`. */
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const folder = fileURLToPath(new URL('../../test-artifacts/screenshots/', import.meta.url));
const desktop = { width: 1280, height: 900 };

const phone = { width: 390, height: 844 };

const appearances = [
  ['phone', phone, 'light'],
  ['phone-dark', phone, 'dark'],
  ['dark', desktop, 'dark'],
  ['light', desktop, 'light'],
] as const;

/** The whole page in each appearance. Leaves it light and wide. */
export async function takePictures(page: Page, name: string): Promise<void> {
  for (const [appearance, viewport, colorScheme] of appearances) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const path = `${folder}${name}.${appearance}.png`;
    await page.screenshot({ path, fullPage: true, animations: 'disabled' });
  }
}
