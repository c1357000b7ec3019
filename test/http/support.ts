/** Shared by the tests of src/http: a database, an API over it, and calls without a socket. */

import { pino } from 'pino';
import { expect } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import type { Storage } from '../../src/config/config.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import type { Scope } from '../../src/core/operations/scopes.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createAuthenticate, type ForgetCredential } from '../../src/http/keys/auth.ts';
import { createKeyUsage, type KeyUsage } from '../../src/http/keys/key-usage.ts';
import { createAccountLimiter, createRateLimiter } from '../../src/http/limits/rate-limit.ts';
import type { ClientChecks } from '../../src/http/pipeline/admission.ts';
import { type Api, createApi } from '../../src/http/pipeline/api.ts';
import type { Headers, Route } from '../../src/http/pipeline/route.ts';
import { createRouter } from '../../src/http/pipeline/router.ts';
import { petRoutes } from '../../src/http/routes/pets.ts';
import { parseJson, renderJson } from '../../src/net/json.ts';
import type { Service } from '../../src/service/service.ts';
import { expectDocumented } from '../support/contract.ts';
import { serviceOn } from '../support/database-service.ts';
import { databasesOfRun, freshStorage, type StorageName } from '../support/storage.ts';
import { isPlain } from './plain-route.ts';

export type TestDatabase = Omit<Database, 'close'> & {
  readonly storage: Storage;
  readonly close: () => Promise<void>;
};

/** The fastest database in the quick run, all in the long one. */
export const databases: readonly StorageName[] = databasesOfRun()
  .filter(({ available }) => available)
  .map(({ name }) => name);

/** A fresh database with all tables; `close` drops it. */
export async function openTestDatabase(storage?: StorageName): Promise<TestDatabase> {
  const fresh = await freshStorage(storage);
  const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  return {
    ...database,
    storage: fresh.storage,
    close: async () => {
      await database.close();
      await fresh.close();
    },
  };
}

type LogLine = {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
};
export type TestClock = { now: Date };

export type TestApi = TestDatabase & {
  readonly api: Api;
  readonly service: Service;
  readonly usage: KeyUsage;
  readonly forget: ForgetCredential;
  /** Logged errors, oldest first. */
  readonly errors: LogLine[];
  /** Logged requests, oldest first. */
  readonly lines: LogLine[];
  readonly clock: TestClock;
  readonly keyWith: (...scopes: readonly Scope[]) => Promise<string>;
};

/** Routes of the tested API. Can replace members of its service first. */
export type MakeRoutes = (service: Service) => readonly Route[];

export type TestApiOptions = {
  readonly storage?: StorageName | undefined;
  readonly env?: Readonly<Record<string, string>>;
};

/** The pets API, and `more` routes, over a fresh database. */
export async function startTestApi(
  more: readonly Route[] | MakeRoutes = [],
  { storage, env }: TestApiOptions = {},
): Promise<TestApi> {
  const database = await openTestDatabase(storage);
  const clock = { now: new Date('2026-11-20T12:00:00Z') };
  const errors: LogLine[] = [];
  const lines: LogLine[] = [];
  const log = {
    error: (fields: LogLine['fields'], message: string) => void errors.push({ fields, message }),
    info: (fields: LogLine['fields'], message: string) => void lines.push({ fields, message }),
    warn: () => undefined,
    debug: () => undefined,
  };
  const { storage: stored } = database;
  const service = serviceOn(database, {
    now: () => clock.now,
    log,
    storage: stored,
    env: env ?? {},
  });
  const routes = [...petRoutes(service), ...(typeof more === 'function' ? more(service) : more)];
  const usage = createKeyUsage(service);
  const authenticate = createAuthenticate(service);
  return {
    ...database,
    api: documented(composeApi(service, routes, { authenticate, usage }), routes),
    service,
    usage,
    forget: authenticate.forget,
    close: async () => {
      await usage.close();
      await service.close();
      await database.close();
    },
    errors,
    lines,
    clock,
    keyWith: async (...scopes) => {
      const { id, token } = mintKey();
      const digest = digestOf(token);
      const { apiKeys } = service;
      await apiKeys.create(wholeInstallation, {
        id,
        name: 'test',
        digest,
        scopes,
        createdAt: clock.now,
      });
      return token;
    },
  };
}

/** The pipeline as in src/roles/api.ts, with limits that no test reaches. */
export function composeApi(
  service: Parameters<typeof createApi>[0],
  routes: readonly Route[],
  checks: Pick<ClientChecks, 'authenticate' | 'usage'>,
): Api {
  const { now } = service;
  const limits = {
    perKey: limiter('key', now),
    perAddress: limiter('address', now),
    perAccount: createAccountLimiter({ name: 'account', windowSeconds: 60 }, now),
  };
  return createApi(service, routes, { ...checks, limits });
}

/** Fails a test whose response is missing from the OpenAPI document of these routes. */
function documented(api: Api, routes: readonly Route[]): Api {
  const find = createRouter(routes);
  return {
    ...api,
    async handle(raw) {
      const answer = await api.handle(raw);
      const found = find(raw.method, raw.target);
      if (found.kind === 'route' && isPlain(found.route)) return answer;
      expectDocumented(routes, `${raw.method} ${raw.target}`, {
        ...answer,
        text: answer.body ?? '',
      });
      return answer;
    },
  };
}

/** High enough for every test; test/http/limits/rate-limit.test.ts has tight ones. */
function limiter(name: 'key' | 'address', now: () => Date) {
  return createRateLimiter({ name, quota: 1_000_000, windowSeconds: 60 }, now);
}

export type CallOptions = {
  readonly key?: string;
  readonly headers?: Headers;
  /** A body to render; bigint is exact. */
  readonly json?: unknown;
  /** A raw body, sent as application/json unless `headers` say otherwise. */
  readonly raw?: string | Uint8Array;
};

export type CallResult = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body, whole numbers as bigint. */
  readonly body: unknown;
};

/** `callApi(api, 'POST /v1/pets', {key, json: {…}})`: one request without a socket. */
export async function callApi(
  api: Api,
  line: string,
  { key, headers = {}, json, raw }: CallOptions = {},
): Promise<CallResult> {
  const [method = '', target = ''] = line.split(' ');
  const text = raw ?? (json === undefined ? '' : renderJson(json));
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const answer = await api.handle({
    method,
    target,
    headers: {
      ...(bytes.length > 0 && { 'content-type': 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    readBody: async () => ({ kind: 'bytes', bytes }),
    remoteAddress: '127.0.0.1',
  });
  const body = answer.body ?? '';
  return { status: answer.status, headers: answer.headers, text: body, body: parsedOf(body) };
}

function parsedOf(text: string): unknown {
  const parsed = parseJson(new TextEncoder().encode(text));
  return parsed.ok ? parsed.value : undefined;
}

/** The Error body of a status and a code; compares the message if given. Also allows `errors`. */
export function errorBody(status: number, code: string, message?: unknown): unknown {
  return expect.objectContaining({
    code,
    message: message ?? expectAnyText,
    status: BigInt(status),
    requestId: expectAnyText,
    docs: expect.stringMatching(new RegExp(`/docs/errors#${code}$`)),
  });
}

/** Matches every non-empty text. */
const expectAnyText = {
  asymmetricMatch: (text: unknown) => typeof text === 'string' && text !== '',
};
