/** Accessibility rules of axe (WCAG 2.2 A and AA, and best practices). */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const file = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const source = `${readFileSync(file, 'utf8')};undefined`;

/** Repeats when the page changed in between, because removed elements do not count. */
const run = `(async () => {
  for (;;) {
    const judged = [...document.querySelectorAll('*')];
    const results = await axe.run(document, { resultTypes: ['violations'] });
    if (judged.every((element) => element.isConnected)) return results;
  }
})()`;

/** Each as `rule: selector`; empty if there is none. */
export async function complaintsOfAxe(page: Page): Promise<readonly string[]> {
  await page.evaluate(source); // injected from outside, so the page's policy stays in force
  const { violations } = await page.evaluate<AxeResults>(run);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
  );
}
