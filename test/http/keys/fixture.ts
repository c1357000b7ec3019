/** Processes of one installation with separate key caches, on one database and one clock. */

import { digestOf, mintKey } from '../../../src/config/api-key.ts';
import { wholeInstallation } from '../../../src/core/access.ts';
import type { Scope } from '../../../src/core/operations/scopes.ts';
import { createApiKeyStore } from '../../../src/db/api-keys.ts';
import { createAuthenticate } from '../../../src/http/keys/auth.ts';
import { createKeyUsage, type KeyUsage } from '../../../src/http/keys/key-usage.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { keyRoutes } from '../../../src/http/routes/keys.ts';
import { petRoutes } from '../../../src/http/routes/pets.ts';
import type { Service } from '../../../src/service/service.ts';
import { serviceOn } from '../../support/database-service.ts';
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
  const clock: TestClock = { now };
  const usages: KeyUsage[] = [];
  const services: Service[] = [];
  return {
    database,
    clock,
    aProcess() {
      const service = serviceOn(database, { now: () => clock.now });
      services.push(service);
      const authenticate = createAuthenticate(service);
      const usage = createKeyUsage(service);
      usages.push(usage);
      const routes = [...keyRoutes(service, authenticate.forget), ...petRoutes(service)];
      return { api: composeApi(service, routes, { authenticate, usage }), usage };
    },
    async keyWith(...scopes) {
      const minted = mintKey();
      const digest = digestOf(minted.token);
      await createApiKeyStore(database.prisma).create(wholeInstallation, {
        id: minted.id,
        name: 'test',
        digest,
        scopes,
        createdAt: clock.now,
      });
      return minted;
    },
    async close() {
      await Promise.all(usages.map((usage) => usage.close()));
      await Promise.all(services.map((service) => service.close()));
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
