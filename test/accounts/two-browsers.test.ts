/** Two customers in two browsers, on one service. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountScopes } from '../../src/core/operations/scopes.ts';
import { complaintsOfAxe } from '../dashboard/support/axe.ts';
import { type RunningDashboard, signIn, startDashboard } from '../dashboard/support/dashboard.ts';
import { startBrowser, visit } from '../support/browser.ts';
import { lacks } from '../support/programs.ts';
import { takePictures } from '../support/screenshots.ts';

type Made = { readonly id: string; readonly key: string };
type Customer = { readonly name: string; readonly projectId: string; readonly key: string };

const patience = { timeout: 180_000 };

describe.skipIf(lacks('chromium', 'two customers in two browsers'))(
  'Two customers',
  patience,
  () => {
    let dashboard: RunningDashboard;
    let browser: Browser;
    let customers: readonly [Customer, Customer];

    beforeAll(async () => {
      dashboard = await startDashboard();
      browser = await startBrowser();
      customers = [await aCustomer('Ada'), await aCustomer('Bob')];
    }, 120_000);
    afterAll(async () => {
      await browser?.close();
      await dashboard?.close();
    });

    async function aCustomer(name: string): Promise<Customer> {
      const { api } = dashboard;
      const { id: accountId } = await api<Made>('POST', '/v1/accounts', { name });
      const project = { name: `${name}’s docs`, slug: 'docs', plan: 'pro', accountId };
      const { id: projectId } = await api<Made>('POST', '/v1/projects', project);
      const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };
      await api('POST', `/v1/projects/${projectId}/deploys`, deploy);
      const scopes = accountScopes;
      const { key } = await api<Made>('POST', '/v1/keys', {
        name: `${name}’s key`,
        scopes,
        accountId,
      });
      return { name, projectId, key };
    }

    async function openFor({ key }: Customer) {
      const opened = await visit(browser, dashboard.url);
      await opened.page.fill('#key', key);
      await opened.page.click('text=Sign in >> nth=-1');
      await opened.page.waitForSelector('h1:has-text("Projects")');
      return opened;
    }

    it('work side by side, and see nothing of each other', async () => {
      const [ada, bob] = customers;
      const [hers, his] = [await openFor(ada), await openFor(bob)];
      await hers.page.click(`text=${ada.name}’s docs`);
      await hers.page.fill('[name=hostname]', 'docs.ada.example');
      await hers.page.click('text=Add domain');
      await hers.page.waitForSelector('h1:has-text("docs.ada.example")');
      const address = hers.page.url();

      for (const path of ['/projects', '/keys', `/projects/${ada.projectId}/domains`]) {
        await his.page.goto(dashboard.url + path);
        expect(await his.page.textContent('body'), path).not.toContain('Ada');
        expect(await his.page.textContent('body'), path).not.toContain('docs.ada.example');
      }
      const response = await his.page.goto(address);
      expect(response?.status()).toBe(404);
      await his.page.goto(`${dashboard.url}/projects`);
      await his.page.waitForSelector(`text=${bob.name}’s docs`);
      expect(hers.complaints).toEqual([]);
      await hers.close();
      await his.close();
    });

    it('get accessible pages of keys, and the operator of accounts', async () => {
      const [ada] = customers;
      const { page, close } = await openFor(ada);
      await page.goto(`${dashboard.url}/keys`);
      await page.click('text=New key');
      await page.fill('[name=name]', 'for the CI');
      await page.click('text=Create key');
      await page.waitForSelector('text=It is not shown again.');
      expect(await complaintsOfAxe(page)).toEqual([]);
      await takePictures(page, 'keys');
      await close();
      const operator = await visit(browser, dashboard.url);
      await signIn(operator.page, dashboard.url, '/accounts');
      expect(await complaintsOfAxe(operator.page)).toEqual([]);
      await takePictures(operator.page, 'accounts');
      await operator.page.click('[aria-label="Choose Ada"]');
      await operator.page.waitForSelector('.account:has-text("Ada")');
      expect(await operator.page.textContent('body')).not.toContain('Bob');
      await operator.close();
    });
  },
);
