/** What the tests of accounts over HTTP share: accounts with a project each, and keys of them. */

import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { loadConfig } from '../../src/config/config.ts';
import { installation } from '../../src/core/accounts/access.ts';
import type { AccountLimits } from '../../src/core/accounts/limits.ts';
import { createAccountStore, type GrantedAccount } from '../../src/db/accounts.ts';
import { createApiKeyStore, type KeyOwner } from '../../src/db/api-keys.ts';
import { createProjectStore, type GrantedProject } from '../../src/db/projects.ts';
import type { Route, Scope } from '../../src/http/pipeline/route.ts';
import { accountRoutes } from '../../src/http/routes/accounts.ts';
import { keyRoutes } from '../../src/http/routes/keys.ts';
import { aStoredProject, withinOwnLimits } from '../support/access.ts';
import { publishingRoutes } from './publishing-routes.ts';
import {
  type CallOptions,
  callApi,
  type MakeRoutes,
  startTestApi,
  type TestApi,
} from './support.ts';

export type AccountCall = CallOptions & {
  /** The value of `Signpost-Account`. */
  readonly account?: string | undefined;
};
export type MadeKey = { readonly id: string; readonly token: string };

export type Accounts = TestApi & {
  /** Of the installation, with `admin`. */
  readonly admin: string;
  /** `GET /v1/projects`, with `admin` unless another key is given. */
  readonly call: (line: string, options?: AccountCall) => ReturnType<typeof callApi>;
  /** With a project of its own. */
  readonly anAccount: (name: string) => Promise<{
    readonly account: GrantedAccount;
    readonly project: GrantedProject;
  }>;
  readonly aKey: (
    owner: KeyOwner,
    scopes: readonly Scope[],
    of?: readonly GrantedProject[],
  ) => Promise<MadeKey>;
  readonly close: () => Promise<void>;
};

/** What holds for accounts without limits of their own. */
export const configuredLimits: AccountLimits = limitsOf();

function limitsOf(): AccountLimits {
  const loaded = loadConfig({});
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config.accounts.limits;
}

/** `more`: routes beside those of accounts, keys, projects and domains. */
export async function openAccounts(more: readonly Route[] | MakeRoutes = []): Promise<Accounts> {
  const api = await startTestApi((prisma, now) => {
    const [accounts, projects] = [createAccountStore(prisma), createProjectStore(prisma)];
    const keys = createApiKeyStore(prisma);
    return [
      ...accountRoutes({ accounts, limits: configuredLimits, now }),
      ...keyRoutes({
        accounts,
        projects,
        keys,
        withinLimits: withinOwnLimits(prisma),
        forget: () => {},
        now,
      }),
      ...publishingRoutes(prisma, now, {}),
      ...(typeof more === 'function' ? more(prisma, now) : more),
    ];
  });
  const admin = await api.keyWith('admin');
  const { prisma } = api;
  return {
    ...api,
    admin,
    call: (line, { account, headers, key = admin, ...rest } = {}) =>
      callApi(api.api, line, {
        ...rest,
        key,
        headers: { ...headers, ...(account !== undefined && { 'signpost-account': account }) },
      }),
    async anAccount(name) {
      const account = await createAccountStore(prisma).create(installation, { name, limits: {} });
      return { account, project: await aStoredProject(prisma, { accountId: account.id }) };
    },
    async aKey(owner, scopes, of = []) {
      const { id, token } = mintKey();
      const digest = digestOf(token);
      const projectIds = of.map((project) => project.id);
      await createApiKeyStore(prisma).create(owner, {
        id,
        name: 'test',
        digest,
        scopes,
        projectIds,
        createdAt: api.clock.now,
      });
      return { id, token };
    },
  };
}

/** The ids of what an answer lists. */
export function idsOf(body: unknown): readonly string[] {
  return (body as readonly { readonly id: string }[]).map(({ id }) => id); // lists of docs/api.md
}
