/** A real browser, and what it complains about. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram, missing } from './programs.ts';

/** How long a page may take to do what is waited for: a busy machine stays below it, and it below what a test may take. */
const PATIENCE_MS = 60_000;

/** Chromium without a window. It asks nobody but the pages that it is sent to. `more`: further arguments. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findProgram('chromium');
  if (executablePath === undefined) throw new Error(missing('chromium') ?? 'chromium is missing');
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox', // root, as CI often is, cannot have one
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      ...more,
    ],
  });
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}

/** Waits until the element has the focus: a browser moves it when it next draws the page. */
export async function waitForFocus(page: Page, selector: string): Promise<void> {
  await page.waitForSelector(`${selector}:focus`);
}

export type Visit = {
  readonly page: Page;
  /** Errors and warnings of the console, those about the content security policy among them, and uncaught exceptions. */
  readonly complaints: string[];
  /** The URL of everything that was asked for. */
  readonly asked: string[];
  readonly close: () => Promise<void>;
};

/** Opens a page as somebody who was never there before. */
export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const [complaints, asked]: [string[], string[]] = [[], []];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (fault) => complaints.push(String(fault)));
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(url);
  return { page, complaints, asked, close: () => context.close() };
}
