/** Who has a paid plan is the operator's to say, where they have said so. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { errorBody } from '../support.ts';
import { type Accounts, startAccounts } from './fixture.ts';

let at: Accounts;
let id: string;
let key: string;
beforeAll(async () => {
  at = await startAccounts(undefined, { ACCOUNT_PLANS: 'free' });
  const made = async (line: string, json: object) =>
    (await at.call(line, { json })).body as { id: string; key: string };
  ({ id } = await made('POST /v1/accounts', { name: 'Shop' }));
  ({ key } = await made('POST /v1/keys', { name: 'k', scopes: ['admin'], accountId: id }));
});
afterAll(() => at?.close());

const asProject = (plan?: string) => ({ name: 'P', slug: `p-${plan}`, ...(plan && { plan }) });
const kept = (plan: string) =>
  errorBody(
    403,
    'installation_only',
    `Only a key of the installation can put a project on the plan ${plan}, without Signpost-Account.`,
  );

it('a key of an account makes projects on no plan that is not left to it', async () => {
  for (const plan of ['pro', 'enterprise']) {
    expect((await at.call('POST /v1/projects', { key, json: asProject(plan) })).body).toEqual(
      kept(plan),
    );
    const acting = { json: asProject(plan), headers: { 'signpost-account': id } };
    expect((await at.call('POST /v1/projects', acting)).body).toEqual(kept(plan));
  }
  expect((await at.call('GET /v1/projects', { key })).body).toEqual([]);
  const made = await at.call('POST /v1/projects', { key, json: asProject() });
  expect(made).toMatchObject({ status: 201, body: { plan: 'free' } });
  const log = await at.call('GET /v1/audit?operationId=createProject', { key });
  const entries = log.body as readonly { outcome: string }[];
  const outcomes = new Set(entries.map(({ outcome }) => outcome));
  expect(outcomes).toEqual(new Set(['refused', 'done']));
});

it('nor puts one on it, which a key of the installation does', async () => {
  const json = asProject('free');
  const project = (await at.call('POST /v1/projects', { key, json })).body as { id: string };
  const path = `/v1/projects/${project.id}`;
  const change = (plan: string, more: object = {}) =>
    at.call(`PATCH ${path}`, { json: { plan }, ...more });
  const asAccount = { key };
  expect((await change('pro', asAccount)).body).toEqual(kept('pro'));
  const domain = { key, json: { hostname: 'docs.example.com' } };
  await at.call(`POST ${path}/deploys`, {
    key,
    json: { status: 'succeeded', upstream: 'https://deploy.example/' },
  });
  expect((await at.call(`POST ${path}/domains`, domain)).body).toMatchObject({
    code: 'paid_plan_required',
  });
  expect(await change('pro')).toMatchObject({ status: 200, body: { plan: 'pro' } });
  expect(await at.call(`POST ${path}/domains`, domain)).toMatchObject({ status: 201 });

  // What it has it may send along; what it gives up it does not take back.
  const renamed = { key, json: { plan: 'pro', name: 'Docs' } };
  expect(await at.call(`PATCH ${path}`, renamed)).toMatchObject({ status: 200 });
  expect(await change('free', asAccount)).toMatchObject({ status: 200 });
  expect((await change('pro', asAccount)).body).toEqual(kept('pro'));
});
