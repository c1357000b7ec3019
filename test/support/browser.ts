import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram, missing } from './programs.ts';

/** Longer than a page takes on a busy machine, shorter than the test timeout. */
const PATIENCE_MS = 60_000;

/** Headless Chromium that contacts only the tested pages. `more`: extra arguments. */
export async function startBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = findProgram('chromium');
  if (executablePath === undefined) throw new Error(missing('chromium') ?? 'chromium is missing');
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox', // root, the usual user of CI, cannot have one
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

/** Waits for the focus, which a browser moves when it next draws the page. */
export async function waitForFocus(page: Page, selector: string): Promise<void> {
  await page.waitForSelector(`${selector}:focus`);
}

export type Visit = {
  readonly page: Page;
  /** Console errors and warnings, including policy violations, and uncaught exceptions. */
  readonly complaints: string[];
  /** The URL of every request. */
  readonly asked: string[];
  readonly close: () => Promise<void>;
};

/** Opens a page in a fresh browser profile. */
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
