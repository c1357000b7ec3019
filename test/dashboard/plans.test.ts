/** Plans that are not left to accounts are not offered to them, and to the installation they are. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_KEY, type RunningDashboard, startDashboard } from './support/dashboard.ts';

let dashboard: RunningDashboard;
let project: string;
let customer: string;
beforeAll(async () => {
  dashboard = await startDashboard({ ACCOUNT_PLANS: 'free' });
  const account = await dashboard.api<{ id: string }>('POST', '/v1/accounts', { name: 'Shop' });
  const keyOf = { name: 'k', scopes: ['admin'], accountId: account.id };
  customer = (await dashboard.api<{ key: string }>('POST', '/v1/keys', keyOf)).key;
  const projectOf = { name: 'P', slug: 'p', accountId: account.id };
  project = (await dashboard.api<{ id: string }>('POST', '/v1/projects', projectOf)).id;
}, 60_000);
afterAll(() => dashboard?.close());

/** Signs in with a key, and gives what it is shown at a path. */
async function shownTo(key: string, path: string): Promise<string> {
  const body = new URLSearchParams({ key });
  const signedIn = await fetch(`${dashboard.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    body,
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return (await fetch(dashboard.url + path, { headers: { cookie } })).text();
}
const plansIn = (text: string) =>
  [...text.matchAll(/<option value="([^"]+)"/g)].map(([, value]) => value);

it('a new project of a customer is on a plan that is left to it', async () => {
  expect(plansIn(await shownTo(customer, '/projects'))).toEqual(['free']);
  expect(plansIn(await shownTo(API_KEY, '/projects'))).toEqual(['pro', 'enterprise', 'free']);
});

it('a customer reads who changes the plan, and the operator has the button', async () => {
  const path = `/projects/${project}/domains`;
  const text = await shownTo(customer, path);
  expect(text).toContain('Who runs this platform changes the plan.');
  expect(text).not.toContain('Switch to Pro');
  expect(await shownTo(API_KEY, path)).toContain('Switch to Pro');
});
