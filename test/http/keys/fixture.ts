/** Processes of one installation with separate key caches, on one database and one clock. */

import { digestOf, mintKey } from '../../../src/config/api-key.ts';
import type { Scope } from '../../../src/core/operations/scopes.ts';
import { createApiKeyStore, createKeyUsageStore } from '../../../src/db/api-keys.ts';
import { createPetStore } from '../../../src/db/pets.ts';
import { createAuthenticate } from '../../../src/http/keys/auth.ts';
import { createKeyUsage, type KeyUsage } from '../../../src/http/keys/key-usage.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { keyRoutes } from '../../../src/http/routes/keys.ts';
import { petRoutes } from '../../../src/http/routes/pets.ts';
import type { StorageName } from '../../support/storage.ts';
import {
  callApi,
  composeApi,
  openTestDatabase,
  type TestClock,
  type TestDatabase,
} from '../support.ts';

export type Installation = {
  readonly database: TestDatabase;
  readonly clock: TestClock;
  readonly aProcess: () => { readonly api: Api; readonly usage: KeyUsage };
  /** A key stored directly, without an API call. */
  readonly keyWith: (...scopes: readonly Scope[]) => Promise<{ id: string; token: string }>;
  close(): Promise<void>;
};

export async function openInstallation(now: Date, storage?: StorageName): Promise<Installation> {
  const database = await openTestDatabase(storage);
  const { prisma } = database;
  const clock: TestClock = { now };
  const keys = createApiKeyStore(prisma);
  const usages: KeyUsage[] = [];
  return {
    database,
    clock,
    aProcess() {
      const read = () => clock.now;
      const log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
      const authenticate = createAuthenticate({ findKey: keys.find, now: read });
      const usage = createKeyUsage({ store: createKeyUsageStore(prisma), now: read, log });
      usages.push(usage);
      const routes = [
        ...keyRoutes({ keys, forget: authenticate.forget, now: read }),
        ...petRoutes({ pets: createPetStore(database), now: read }),
      ];
      return { api: composeApi({ routes, authenticate, usage, log, prisma, now: read }), usage };
    },
    async keyWith(...scopes) {
      const minted = mintKey();
      const digest = digestOf(minted.token);
      await keys.create({ id: minted.id, name: 'test', digest, scopes, createdAt: clock.now });
      return minted;
    },
    async close() {
      await Promise.all(usages.map((usage) => usage.close()));
      await database.close();
    },
  };
}

export type Shown = {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly successorId: string | null;
  readonly deprecatedUses: unknown;
};

/** The body of a call that must succeed. */
export async function shownBy(
  api: Api,
  line: string,
  options: Parameters<typeof callApi>[2],
): Promise<Shown> {
  const { status, body, text } = await callApi(api, line, options);
  if (status >= 300) throw new Error(`${line}: ${status} ${text}`);
  return body as Shown; // the shapes in docs/integrate/keys.md
}
