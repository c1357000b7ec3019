/** What a browser measures of the page that it shows. The expressions run there, where there is a document. */
import type { Page } from 'playwright-core';

/** By how many pixels the page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
}

/** How much of what was shown has moved since (Layout Instability API); 0: nothing. */
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

/** Everything that the page is made of, in octets. */
export function octetsOf(page: Page): Promise<number> {
  return page.evaluate(
    'performance.getEntries().reduce((sum, entry) => sum + (entry.decodedBodySize ?? 0), 0)',
  );
}

/** What is written on the control that has the focus. */
export function focusedText(page: Page): Promise<string> {
  return page.evaluate("document.activeElement?.textContent?.trim() ?? ''");
}
