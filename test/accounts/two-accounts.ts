/** An API with two accounts, each with everything that a project can have. */
import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { expect } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { accountScopes } from '../../src/core/operations/scopes.ts';
import { startSignpost } from '../../src/start.ts';
import { type CallOptions, callApi } from '../http/support.ts';
import { type FreshStorage, freshStorage, type StorageName } from '../support/storage.ts';

export const API_KEY = 'the-key-of-the-platform-itself';

type Named = { readonly id: string };

/**
 * `mark`: in every name and value of the project, so that a leak shows in any response. It is too
 * long to be in a random ID by chance.
 */
export type Customer = {
  readonly mark: string;
  readonly accountId: string;
  readonly projectId: string;
  /** Another project of the account, without anything. */
  readonly otherProjectId: string;
  readonly deployId: string;
  readonly hostname: string;
  readonly zone: string;
  readonly domainId: string;
  readonly webhookId: string;
  /** With every scope that an account's key can have. */
  readonly key: string;
  readonly keyId: string;
  /** One of two sessions of the key in the dashboard. */
  readonly sessionId: string;
  /** An Idempotency-Key that the customer has sent with each of its POST requests. */
  readonly usedIdempotencyKey: string;
};

export type TwoAccounts = Awaited<ReturnType<typeof startTwoAccounts>>;

/** The API over a database, with the platform's key. `encryptionKey`: in base64. */
export async function startOn(
  { storage }: Pick<FreshStorage, 'storage'>,
  encryptionKey = randomBytes(32).toString('base64'),
) {
  const result = loadConfig({
    ...(storage.kind === 'embedded'
      ? { DATA_DIR: storage.dataDir, EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' }
      : { DATABASE_URL: storage.databaseUrl, ACME_DIRECTORY_URL: 'local', ROLE: 'api' }),
    API_KEY,
    PORT: '0',
    KEY_ENCRYPTION_KEY: encryptionKey,
    DNS_SERVERS: '127.0.0.1:1',
    UPSTREAM_NETWORKS: '127.0.0.0/8',
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  const { api, service } = signpost;
  if (api === null) throw new Error('this process has no API');
  const call = (line: string, options: CallOptions) => callApi(api, line, options);
  return { api, service, call, close: () => signpost.close(5_000) };
}

export async function startTwoAccounts(name?: StorageName, encryptionKey?: string) {
  const fresh = await freshStorage(name);
  const { close, ...started } = await startOn(fresh, encryptionKey);
  return {
    ...started,
    one: await aCustomer(started.call, 'primero'),
    other: await aCustomer(started.call, 'segundo'),
    async close() {
      await close();
      await fresh.close();
    },
  };
}

type Call = (line: string, options: CallOptions) => ReturnType<typeof callApi>;

/** Made with the platform's key, with two of everything; both customers use the same slugs. */
async function aCustomer(call: Call, mark: string): Promise<Customer> {
  const made = async (line: string, json: object): Promise<Named> => {
    const { status, body } = await call(line, { key: API_KEY, json });
    expect(status, `${line}: ${JSON.stringify(body, replaceBigint)}`).toBeLessThan(300);
    return body as Named;
  };
  const { id: accountId } = await made('POST /v1/accounts', { name: 'A customer' });
  const about = { plan: 'pro', accountId, metadata: { of: mark } };
  const project = { name: `project-${mark}`, slug: 'docs', ...about };
  const { id: projectId } = await made('POST /v1/projects', project);
  const other = { name: 'Other', slug: 'other', plan: 'pro', accountId };
  const { id: otherProjectId } = await made('POST /v1/projects', other);
  const path = `/v1/projects/${projectId}`;
  const deploy = { status: 'succeeded', upstream: `http://127.0.0.1:9/${mark}` };
  await made(`POST ${path}/deploys`, deploy);
  const { id: deployId } = await made(`POST ${path}/deploys`, deploy);
  const zone = `${mark}.example`;
  const hostname = `docs.${zone}`;
  const webhook = { url: `https://${mark}.example/hook` };
  await made(`POST ${path}/webhooks`, webhook);
  const { id: webhookId } = await made(`POST ${path}/webhooks`, webhook);
  const { id: domainId } = await made(`POST ${path}/domains`, { hostname });
  await made(`POST ${path}/domains`, { hostname: `www.${zone}` });
  await made(`PUT ${path}/domains/${hostname}/hsts`, {
    ...{ maxAge: 300n, includeSubdomains: false, preload: false },
  });
  const settings = { domains: { primary: hostname, redirects: [] } };
  await made(`PUT ${path}/domain-settings`, settings);
  const key = { name: `key-${mark}`, scopes: accountScopes, accountId };
  const { id: keyId, key: token } = (await made('POST /v1/keys', key)) as Named & { key: string };
  const sessionId = await signIn(call, token, mark);
  const ids = {
    accountId,
    projectId,
    otherProjectId,
    deployId,
    domainId,
    webhookId,
    keyId,
    sessionId,
  };
  return { mark, zone, hostname, key: token, ...ids, usedIdempotencyKey: `sent by ${mark}` };
}

/** Twice; the ID of the second session. */
async function signIn(call: Call, key: string, mark: string): Promise<string> {
  const raw = `key=${key}`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': mark };
  for (const _ of Array(2)) {
    expect((await call('POST /sign-in', { raw, headers })).status).toBe(303);
  }
  const { body } = await call('GET /v1/sessions?limit=1', { key });
  return (body as readonly [Named])[0].id;
}

/** The same customer, if it had never been there; its account exists to keys of the account. */
export function absent(customer: Customer, { isOfAccount = false } = {}): Customer {
  return {
    ...customer,
    mark: 'nil',
    ...(!isOfAccount && { accountId: randomUUID() }),
    projectId: randomUUID(),
    deployId: randomUUID(),
    domainId: randomUUID(),
    webhookId: randomUUID(),
    keyId: 'a'.repeat(customer.keyId.length),
    sessionId: randomUUID(),
    zone: 'nil.example',
    hostname: 'docs.nil.example',
    usedIdempotencyKey: randomUUID(),
  };
}

export function replaceBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
