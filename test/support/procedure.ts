/** The customer's way through the dashboard, whoever's hands do it: from the sign-in to the removal. */
import { expect } from 'vitest';
import type { Hands } from './hands.ts';
import type { House } from './house.ts';

export type Customer = {
  readonly hands: Hands;
  readonly house: House;
  /** What the project is called; no other customer's project is. */
  readonly name: string;
  /** Called where there is something to look at. */
  readonly onState?: (state: string) => Promise<void>;
};

const badge = (word: string) => `#head .badge:has-text("${word}")`;

export async function signIn({ hands, house }: Customer): Promise<void> {
  await hands.page.goto(house.url);
  await hands.type('API key', house.apiKey);
  await hands.press('Sign in');
  await hands.page.waitForURL('**/projects');
}

/** Leaves the page at the project's domains, where the first can be added. */
async function makeProject(customer: Customer): Promise<void> {
  const { hands, house, name, onState } = customer;
  const { page } = hands;
  await onState?.('projects-none');
  if ((await page.locator('details.disclosure[open]').count()) === 0) {
    await hands.press('New project');
  }
  await hands.type('Name', name);
  await hands.choose('Plan', 'Free (no custom domains)');
  await hands.press('Create project');
  await hands.see('h2:text-is("Before the first domain")');
  await onState?.('missing');
  await hands.press('Switch to Pro');
  await hands.see('text=Paid plan: done');
  // The page says how a deploy is reported over the API.
  const [method = '', path = ''] = ((await page.textContent('.call code')) ?? '').split(' ');
  const upstream = JSON.stringify({ status: 'succeeded', upstream: house.upstream });
  expect((await house.call(method, path, upstream)).status).toBe(201);
  await page.reload();
  await hands.see('h2:text-is("Add domain")');
  await onState?.('domains-none');
}

type Shown = {
  readonly hostname: string;
  readonly owner: string;
  /** As the page shows it. */
  readonly target: string;
};

/** Pastes an address, and reads the record that is to be created. Leaves the page at the domain. */
async function addDomain({ hands, house }: Customer, owner: string): Promise<Shown> {
  const { page } = hands;
  const hostname = `${owner}.${house.zone}`;
  await hands.type('Domain or subdomain', `https://${hostname.toUpperCase()}/shelf?of=toys`);
  await hands.press('Add domain');
  await page.waitForURL(`**/domains/${hostname}`);
  const cell = (heading: string) =>
    page.locator(`#record [data-heading="${heading}"] code`).textContent();
  expect([await cell('Type'), await cell('Name'), await cell('TTL')]).toEqual([
    'CNAME',
    owner,
    '3600',
  ]);
  return { hostname, owner, target: (await cell('Value')) ?? '' };
}

/** A wrong record, what the page says of it, and the right one; the page is never loaded again. */
async function repair(customer: Customer, { owner, target }: Shown): Promise<void> {
  const { hands, house, onState } = customer;
  await hands.see('#summary:has-text("does not exist in the DNS yet")');
  await onState?.('pending');
  await hands.press('Verify');
  await hands.see('#timeline :text("Check requested")');
  await hands.mark();
  await house.publish(owner, 'CNAME shops.elsewhere.test.');
  await hands.see('#findings .finding:has-text("shops.elsewhere.test")');
  await onState?.('pending-wrong');
  await house.publish(owner, `CNAME ${target}.`);
  await hands.see(badge('Live'));
  await hands.see('#timeline :text("Certificate issued")');
  expect(await hands.page.locator('#findings .finding').count()).toBe(0);
  await hands.expectMarked();
  await onState?.('live');
}

/** From one domain to the other, on the page for it, by who stands at the other. */
async function redirect({ hands, onState }: Customer, from: string, to: string) {
  await hands.press(`More for ${to}`);
  await hands.press('Primary and redirects');
  await hands.see('h3:text-is("New redirect")');
  await hands.choose('From', from);
  await hands.choose('To', to);
  await hands.press('Add the redirect');
  await hands.see(`tbody th:has-text("${from}")`);
  await onState?.('settings');
}

/** By who stands at the project's settings. */
async function remove({ hands, onState, house }: Customer, hostname: string) {
  const { page } = hands;
  await hands.press('Domains');
  await hands.see('h2:text-is("Add domain")');
  await onState?.('domains');
  await hands.press(`More for ${hostname}`);
  await hands.press('Remove');
  await hands.see(`h1:text-is("Remove ${hostname}?")`);
  await onState?.('remove');
  expect(await page.textContent('#main')).toContain('Removal stops serving traffic at once.');
  expect(await page.textContent('#main')).toContain(`The redirect from ${hostname} to`);
  await hands.press(`Remove ${hostname}`);
  await hands.see('.notice');
  expect(await page.textContent('.notice')).toContain(
    `${hostname} was removed and serves no traffic`,
  );
  await onState?.('removed');
  await expect(house.visit(hostname)).rejects.toThrow();
}

/** Everything, in order; what visitors get is checked on the way. */
export async function wholeProcedure(customer: Customer): Promise<void> {
  const { hands, house, name } = customer;
  await signIn(customer);
  await makeProject(customer);
  const old = await addDomain(customer, `old-${name}`);
  await repair(customer, old);
  expect(await house.visit(old.hostname)).toMatchObject({ status: 200, body: GREETING });

  await hands.press(name);
  await hands.see('h2:text-is("Add domain")');
  const next = await addDomain(customer, `new-${name}`);
  await house.publish(next.owner, `CNAME ${next.target}.`);
  await hands.see(badge('Live'));
  await redirect(customer, old.hostname, next.hostname);
  const sentOn = await house.visit(old.hostname);
  expect(sentOn.status).toBe(301);
  expect(sentOn.to).toMatch(`https://${next.hostname}:`);
  expect(sentOn.to).toMatch(/\/a\?b=c$/);

  await remove(customer, old.hostname);
  expect(await house.visit(next.hostname)).toMatchObject({ status: 200, body: GREETING });
}

const GREETING = 'Hello from the project’s deploy.\n';
