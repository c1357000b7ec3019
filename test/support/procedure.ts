/** The complete dashboard procedure for any driver, from sign-in to removal. */
import { expect } from 'vitest';
import type { DashboardFixture } from './dashboard-fixture.ts';
import type { PageDriver } from './page-driver.ts';

export type Customer = {
  readonly driver: PageDriver;
  readonly fixture: DashboardFixture;
  /** The project name, unique per customer. */
  readonly name: string;
  /** Called at every interesting state. */
  readonly onState?: (state: string) => Promise<void>;
};

const badge = (word: string) => `#head .badge:has-text("${word}")`;

export async function signIn({ driver, fixture }: Customer): Promise<void> {
  await driver.page.goto(fixture.url);
  await driver.type('API key', fixture.apiKey);
  await driver.press('Sign in');
  await driver.page.waitForURL('**/projects');
}

/** Leaves the page at the project's domains, before the first is added. */
async function makeProject(customer: Customer): Promise<void> {
  const { driver, fixture, name, onState } = customer;
  const { page } = driver;
  await onState?.('projects-none');
  if ((await page.locator('details.fold[open]').count()) === 0) {
    await driver.press('New project');
  }
  await driver.type('Name', name);
  await driver.choose('Plan', 'Free (no custom domains)');
  await driver.press('Create project');
  await driver.see('h2:text-is("Before your first domain")');
  await onState?.('missing');
  await driver.press('Switch to Pro');
  await driver.see('.todo li[data-tone="ok"]:has-text("Paid plan")');
  // The page explains how to report a deploy over the API.
  const [method = '', path = ''] = ((await page.textContent('.code-line code')) ?? '').split(' ');
  const upstream = JSON.stringify({ status: 'succeeded', upstream: fixture.upstream });
  expect((await fixture.call(method, path, upstream)).status).toBe(201);
  await page.reload();
  await driver.see('label:text-is("Add a domain")');
  await onState?.('domains-none');
}

type Shown = {
  readonly hostname: string;
  readonly owner: string;
  /** As shown on the page. */
  readonly target: string;
};

/** Pastes an address and reads the record to create. Leaves the page at the domain. */
async function addDomain({ driver, fixture }: Customer, owner: string): Promise<Shown> {
  const { page } = driver;
  const hostname = `${owner}.${fixture.zone}`;
  await driver.type('Add a domain', `https://${hostname.toUpperCase()}/shelf?of=toys`);
  await driver.press('Add domain');
  await page.waitForURL(`**/domains/${hostname}`);
  const cell = (heading: string) =>
    page.locator(`#task .change div:has(> dt:text-is("${heading}")) code`).textContent();
  expect([await cell('Type'), await cell('Name')]).toEqual(['CNAME', owner]);
  return { hostname, owner, target: (await cell('Value')) ?? '' };
}

/** A wrong record, its finding and the right record; the page is never reloaded. */
async function repair(customer: Customer, { owner, target }: Shown): Promise<void> {
  const { driver, fixture, onState } = customer;
  await driver.see('#task:has-text("does not exist in the DNS yet")');
  await onState?.('pending');
  await driver.press('Check now');
  await driver.see('#timeline :text("Check requested")');
  await driver.mark();
  await fixture.publish(owner, 'CNAME shops.elsewhere.test.');
  await driver.see('#task .change:has-text("shops.elsewhere.test")');
  await onState?.('pending-wrong');
  await fixture.publish(owner, `CNAME ${target}.`);
  await driver.see(badge('Live'));
  await driver.see('#timeline :text("Certificate issued")');
  expect(await driver.page.locator('#task .change[data-tone="warn"]').count()).toBe(0);
  await driver.expectMarked();
  await onState?.('live');
}

/** Redirects one domain to the other, starting at the other's page. */
async function redirect({ driver, onState }: Customer, from: string, to: string) {
  await driver.press(`More for ${to}`);
  await driver.press('Redirects');
  await driver.see('h2:text-is("New redirect")');
  await driver.choose('From', from);
  await driver.choose('To', to);
  await driver.press('Add the redirect');
  await driver.see(`tbody th:has-text("${from}")`);
  await onState?.('settings');
}

/** Starts at the project's settings. */
async function remove({ driver, onState, fixture }: Customer, hostname: string) {
  const { page } = driver;
  await driver.press('Domains');
  await driver.see('label:text-is("Add a domain")');
  await onState?.('domains');
  await driver.press(`More for ${hostname}`);
  await driver.press('Remove domain');
  await driver.see(`h1:text-is("Remove ${hostname}?")`);
  await onState?.('remove');
  expect(await page.textContent('#main')).toContain('Removal stops serving traffic at once.');
  expect(await page.textContent('#main')).toContain(`The redirect from ${hostname} to`);
  await driver.press(`Remove ${hostname}`);
  await driver.see('.notice');
  expect(await page.textContent('.notice')).toContain(
    `${hostname} was removed and serves no traffic`,
  );
  await onState?.('removed');
  await expect(fixture.visit(hostname)).rejects.toThrow();
}

/** All steps in order; also checks what visitors get. */
export async function wholeProcedure(customer: Customer): Promise<void> {
  const { driver, fixture, name } = customer;
  await signIn(customer);
  await makeProject(customer);
  const old = await addDomain(customer, `old-${name}`);
  await repair(customer, old);
  expect(await fixture.visit(old.hostname)).toMatchObject({ status: 200, body: GREETING });

  await driver.press(name);
  await driver.see('label:text-is("Add a domain")');
  const next = await addDomain(customer, `new-${name}`);
  await fixture.publish(next.owner, `CNAME ${next.target}.`);
  await driver.see(badge('Live'));
  await redirect(customer, old.hostname, next.hostname);
  const sentOn = await fixture.visit(old.hostname);
  expect(sentOn.status).toBe(301);
  expect(sentOn.to).toMatch(`https://${next.hostname}:`);
  expect(sentOn.to).toMatch(/\/a\?b=c$/);

  await remove(customer, old.hostname);
  expect(await fixture.visit(next.hostname)).toMatchObject({ status: 200, body: GREETING });
}

const GREETING = 'Hello from the project’s deploy.\n';
