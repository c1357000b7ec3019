/** Browser measurements of the shown page. The expressions run in the browser. */
import type { Page } from 'playwright-core';

/** By how many pixels the page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
}

/** The layout shift so far (Layout Instability API); 0: none. */
export function shiftsOf(page: Page): Promise<number> {
  return page.evaluate(`new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
    let sum = 0;
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) sum += entry.value;
    });
    observer.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done(sum));
  })))`);
}

/** Size of everything that the page loads, in octets. */
export function octetsOf(page: Page): Promise<number> {
  return page.evaluate(
    'performance.getEntries().reduce((sum, entry) => sum + (entry.decodedBodySize ?? 0), 0)',
  );
}

/** The accessible name of the focused control. */
export function focusedText(page: Page): Promise<string> {
  return page.evaluate(
    `(document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '').trim()`,
  );
}
