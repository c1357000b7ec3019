/** Shared by the tests of src/http: a database, an API over it, and calls without a socket. */

import { pino } from 'pino';
import { expect } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import type { Scope } from '../../src/core/operations/scopes.ts';
import { createApiKeyStore, createKeyUsageStore } from '../../src/db/api-keys.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createTransact } from '../../src/db/engine/transaction.ts';
import type { PrismaClient } from '../../src/db/generated/client.ts';
import { createIdempotentAnswerStore } from '../../src/db/idempotent-answers.ts';
import { createPetStore } from '../../src/db/pets.ts';
import { createAuthenticate, createIsSecret } from '../../src/http/keys/auth.ts';
import { createKeyUsage, type KeyUsage } from '../../src/http/keys/key-usage.ts';
import { createRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { type Api, type ApiDeps, type ApiLog, createApi } from '../../src/http/pipeline/api.ts';
import { createCors } from '../../src/http/pipeline/cors.ts';
import { createIdempotency } from '../../src/http/pipeline/idempotency.ts';
import type { Headers, Route } from '../../src/http/pipeline/route.ts';
import { createRouter } from '../../src/http/pipeline/router.ts';
import { petRoutes } from '../../src/http/routes/pets.ts';
import { parseJson, renderJson } from '../../src/net/json.ts';
import { expectDocumented } from '../support/contract.ts';
import { databasesOfRun, freshStorage, type StorageName } from '../support/storage.ts';
import { isPlain } from './plain-route.ts';

export type TestDatabase = Pick<Database, 'prisma' | 'pool'> & {
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
    prisma: database.prisma,
    pool: database.pool,
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
  readonly usage: KeyUsage;
  /** Logged errors, oldest first. */
  readonly errors: LogLine[];
  /** Logged requests, oldest first. */
  readonly lines: LogLine[];
  readonly clock: TestClock;
  readonly keyWith: (...scopes: readonly Scope[]) => Promise<string>;
};

/** Routes over the database and the clock of the tested API. */
export type MakeRoutes = (prisma: PrismaClient, now: () => Date) => readonly Route[];

/** The pets API, and `more` routes, over a fresh database. */
export async function startTestApi(
  more: readonly Route[] | MakeRoutes = [],
  storage?: StorageName,
): Promise<TestApi> {
  const database = await openTestDatabase(storage);
  const { prisma } = database;
  const clock = { now: new Date('2026-11-20T12:00:00Z') };
  const now = () => clock.now;
  const keys = createApiKeyStore(prisma);
  const errors: LogLine[] = [];
  const lines: LogLine[] = [];
  const log: ApiLog = {
    error: (fields, message) => void errors.push({ fields, message }),
    info: (fields, message) => void lines.push({ fields, message }),
    debug: () => {},
  };
  const authenticate = createAuthenticate({ findKey: keys.find, now });
  const extra = typeof more === 'function' ? more(prisma, now) : more;
  const routes = [...petRoutes({ pets: createPetStore(database), now }), ...extra];
  const usage = createKeyUsage({
    store: createKeyUsageStore(prisma),
    now,
    log: { warn: () => {} },
  });
  return {
    ...database,
    api: documented(composeApi({ routes, authenticate, usage, log, prisma, now }), routes),
    usage,
    close: async () => {
      await usage.close();
      await database.close();
    },
    errors,
    lines,
    clock,
    keyWith: async (...scopes) => {
      const { id, token } = mintKey();
      const digest = digestOf(token);
      await keys.create({ id, name: 'test', digest, scopes, createdAt: clock.now });
      return token;
    },
  };
}

type Composed = Pick<ApiDeps, 'routes' | 'authenticate' | 'usage' | 'log'> & {
  readonly prisma: PrismaClient;
  readonly now: () => Date;
  readonly basePath?: string;
};

/** The pipeline as in src/roles/api.ts, with limits that no test reaches. */
export function composeApi({ prisma, now, basePath = '', ...deps }: Composed): Api {
  return createApi({
    ...deps,
    limits: { perKey: limiter('key', now), perAddress: limiter('address', now) },
    addressOf: (address) => address ?? '',
    idempotency: createIdempotency({
      transact: createTransact(prisma),
      answers: createIdempotentAnswerStore(prisma),
      now,
    }),
    cors: createCors(['https://shop.example']),
    isSecret: createIsSecret(undefined),
    basePath,
    docsUrl: `${basePath}/docs`,
  });
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
