/** A whole service for tests of accounts, called without a socket, under a clock of the test's own. */
import { pino } from 'pino';
import { loadConfig } from '../../../src/config/config.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { type Signpost, startSignpost } from '../../../src/start.ts';
import { freshStorage, type StorageName } from '../../support/storage.ts';
import { startWorld } from '../../support/world.ts';
import { type CallOptions, type CallResult, callApi } from '../support.ts';

export type Made = { readonly id: string };

export type Accounts = {
  readonly signpost: Signpost;
  readonly api: Api;
  /** Of the installation. */
  readonly apiKey: string;
  readonly clock: { now: Date };
  /** With the installation's own key, unless another is given. */
  call(line: string, options?: CallOptions): Promise<CallResult>;
  /** An account with these limits, a key of it with `admin`, and a project that may have domains. */
  account(limits?: Readonly<Record<string, number | null>>): Promise<{
    readonly id: string;
    readonly key: string;
    readonly project: string;
  }>;
  /** A project with a deploy, of the key's account. */
  project(key?: string): Promise<string>;
  close(): Promise<void>;
};

/** Only the API where the storage allows that: nothing is checked meanwhile. */
export async function startAccounts(
  storage?: StorageName,
  env: Readonly<Record<string, string>> = {},
): Promise<Accounts> {
  const fresh = await freshStorage(storage);
  const role = fresh.storage.kind === 'embedded' ? {} : { ROLE: 'api' };
  const world = await startWorld({
    storage: fresh.storage,
    ca: 'local authority',
    env: { ...role, ...env },
  });
  const loaded = loadConfig(world.env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const clock = { now: new Date() };
  const signpost = await startSignpost(loaded.config, pino({ level: 'silent' }), () => clock.now);
  const { api } = signpost;
  if (api === null) throw new Error('the role of the API is not played');
  const call: Accounts['call'] = (line, options = {}) =>
    callApi(api, line, { key: world.apiKey, ...options });
  let made = 0;

  async function post(line: string, json: unknown, key = world.apiKey): Promise<Made> {
    const { status, body } = await call(`POST ${line}`, { json, key });
    if (status !== 201) throw new Error(JSON.stringify([line, status, body], unquoted));
    return body as Made;
  }

  async function project(key?: string): Promise<string> {
    made += 1;
    const wanted = { name: 'Docs', slug: `docs-${made}`, plan: 'pro' };
    const { id } = await post('/v1/projects', wanted, key);
    const deploy = { status: 'succeeded', upstream: 'https://deploy.example/' };
    await post(`/v1/projects/${id}/deploys`, deploy, key);
    return id;
  }

  return {
    signpost,
    api,
    apiKey: world.apiKey,
    clock,
    call,
    project,
    async account(limits) {
      const { id } = await post('/v1/accounts', { name: 'Shop', ...(limits && { limits }) });
      const minted = await post('/v1/keys', { name: 'k', scopes: ['admin'], accountId: id });
      const { key } = minted as Made & { key: string };
      return { id, key, project: await project(key) };
    },
    async close() {
      await signpost.close(10_000);
      await world.close();
      await fresh.close();
    },
  };
}

const unquoted = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
