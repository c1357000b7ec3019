/** Three ways to use a page: pointer, keyboard alone, or without JavaScript by reloading. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from './world.ts';

export type PageDriver = {
  readonly page: Page;
  /**
   * Presses a button, link or menu by its visible or accessible name. A menu opens; anything else loads another page
   * and waits for it, because a reload would cancel the request.
   */
  readonly press: (name: string) => Promise<void>;
  /** Fills a field by its label. */
  readonly type: (label: string, text: string) => Promise<void>;
  readonly choose: (label: string, option: string) => Promise<void>;
  /** Waits until it is shown on a completely loaded page. */
  readonly see: (selector: string) => Promise<void>;
  /** A mark disappears with the next load; no effect without JavaScript. */
  readonly mark: () => Promise<void>;
  readonly expectMarked: () => Promise<void>;
};

/** Some results need a found record and an ordered certificate: a minute on a busy machine. */
const PATIENCE_MS = 120_000;

export function pointing(page: Page): PageDriver {
  const control = (name: string) =>
    page
      .locator(
        `:is(a, button, summary)[aria-label="${name}"], :is(a, button, summary):text-is("${name}")`,
      )
      .locator('visible=true')
      .first();
  return {
    page,
    async press(name) {
      const wanted = control(name);
      await wanted.waitFor();
      const isMenu = (await wanted.and(page.locator('summary')).count()) > 0;
      await (isMenu ? wanted.click() : leaving(page, () => wanted.click()));
    },
    type: (label, text) => page.getByLabel(label, { exact: true }).fill(text),
    async choose(label, option) {
      await page.getByLabel(label, { exact: true }).selectOption({ label: option });
    },
    async see(selector) {
      await page.waitForSelector(selector, { timeout: PATIENCE_MS });
      await page.waitForLoadState();
    },
    async mark() {
      await page.evaluate('globalThis.isMarked = true');
    },
    async expectMarked() {
      expect(await page.evaluate('globalThis.isMarked === true')).toBe(true);
    },
  };
}

/** Runs an action that loads another page, and waits for that. */
async function leaving(page: Page, act: () => Promise<void>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()]);
}

/** Pages without JavaScript: changes show after a reload. */
export function withoutScript(page: Page): PageDriver {
  return {
    ...pointing(page),
    async see(selector) {
      await until(
        selector,
        async () => {
          if ((await page.locator(selector).locator('visible=true').count()) > 0) return true;
          await page.reload();
          return false;
        },
        PATIENCE_MS,
      );
    },
    mark: async () => {},
    expectMarked: async () => {},
  };
}

/** More controls than any page has. */
const TABS_MAX = 80;
/** More options than any list in these tests. */
const OPTIONS_MAX = 20;

export function byKeyboard(page: Page): PageDriver {
  const { keyboard } = page;
  async function tabTo(name: string): Promise<void> {
    for (let tabs = 0; (await focusedName(page)) !== name; tabs += 1) {
      if (tabs > TABS_MAX) throw new Error(`no way to “${name}” by the keyboard`);
      await keyboard.press('Tab');
    }
  }
  return {
    ...pointing(page),
    async press(name) {
      await tabTo(name);
      const isMenu = await page.evaluate('document.activeElement.matches("summary")');
      const enter = () => keyboard.press('Enter');
      await (isMenu ? enter() : leaving(page, enter));
    },
    async type(label, text) {
      await tabTo(label);
      await keyboard.press('Control+A');
      await keyboard.type(text);
    },
    async choose(label, option) {
      await tabTo(label);
      // Not by typing: the browser joins letters only if they come within a second of each other.
      await keyboard.press('Home');
      for (let presses = 0; (await chosenOption(page)) !== option; presses += 1) {
        if (presses > OPTIONS_MAX) throw new Error(`no way to “${option}” by the keyboard`);
        await keyboard.press('ArrowDown');
      }
    },
  };
}

/** The accessible name; undefined without a focus. */
function focusedName(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    const one = document.activeElement;
    if (one === null || one === document.body) return '';
    return (one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? one.textContent).trim();
  })()`);
}

/** The selected option of the focused list. */
function chosenOption(page: Page): Promise<string | undefined> {
  return page.evaluate('document.activeElement?.selectedOptions?.[0]?.label');
}
