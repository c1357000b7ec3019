/** What axe finds on a page: rules for people who see, hear or move differently (WCAG 2.2 A and AA, and good practice). */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const file = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const source = `${readFileSync(file, 'utf8')};undefined`;

/** Once more where the page has moved meanwhile: what is no longer part of it is not to be judged. */
const run = `(async () => {
  for (;;) {
    const judged = [...document.querySelectorAll('*')];
    const results = await axe.run(document, { resultTypes: ['violations'] });
    if (judged.every((element) => element.isConnected)) return results;
  }
})()`;

/** Each as `rule: selector`; empty where nothing is to be mended. */
export async function complaintsOfAxe(page: Page): Promise<readonly string[]> {
  await page.evaluate(source); // no script of the page, so that its policy may stay
  const { violations } = await page.evaluate<AxeResults>(run);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
  );
}
