import { Redis } from 'ioredis';
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Storage } from '../../../src/config/config.ts';
import { openDatabase } from '../../../src/db/engine/client.ts';
import { migrate } from '../../../src/db/engine/migrate.ts';
import {
  openRateLimiters,
  openRateLimitStore,
  type RateLimiters,
} from '../../../src/http/limits/rate-limit.ts';
import { defaultConfig, plainService } from '../../support/plain-service.ts';
import { lacks } from '../../support/programs.ts';
import { startPostgres } from '../../support/servers.ts';
import { freshStorage, storages } from '../../support/storage.ts';

const silent = pino({ level: 'silent' });
const shared = storages.filter(({ name }) => name !== 'embedded');

type Process = { readonly limits: RateLimiters; readonly said: readonly string[] };

/** One process's limits: 10 requests a key, any number an address. */
async function startProcess(storage: Storage, windowSeconds = 60): Promise<Process> {
  const database = await openDatabase(storage, silent);
  const said: string[] = [];
  const log = {
    warn: (_fields: unknown, message?: string) => void said.push(message ?? ''),
    info: (_fields: unknown, message?: string) => void said.push(message ?? ''),
  };
  const config = { storage, api: limitsOf(10, 1e6) };
  const service = plainService({ config, database, log, now: () => new Date() });
  const limits = openRateLimiters(service, windowSeconds);
  onTestFinished(async () => {
    await limits.close();
    await database.close();
  });
  return { limits, said };
}

const limitsOf = (perKey: number, perAddress: number) => ({
  ...defaultConfig.api,
  rateLimits: { perKey, perAddress },
});

const alone = 'rate limit store unavailable; each process counts separately';
const together = 'rate limit store available again';

function take({ limits }: Process, times: number, id = 'k1') {
  return Array.from({ length: times }, () => limits.perKey.take(id)).at(-1);
}

/** Retries until it holds: the test controls neither the end of a window nor a reconnect. */
async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The counts in the store by key. */
async function stored(storage: Storage): Promise<Readonly<Record<string, number>>> {
  if (storage.kind === 'postgres_redis') {
    const redis = new Redis(storage.redisUrl);
    const keys = (await redis.keys('*')).sort();
    const counts = await Promise.all(keys.map(async (key) => [key, Number(await redis.get(key))]));
    redis.disconnect();
    return Object.fromEntries(counts);
  }
  const client = new pg.Client(storage.kind === 'postgres' ? storage.databaseUrl : '');
  await client.connect();
  const { rows } = await client.query('SELECT key, points FROM rate_limit ORDER BY key');
  await client.end();
  return Object.fromEntries(rows.map(({ key, points }) => [key, points]));
}

for (const { name, available } of shared) {
  describe.skipIf(!available)(`on ${name}`, () => {
    async function fresh() {
      const { storage, close } = await freshStorage(name);
      onTestFinished(close);
      return storage;
    }

    test('processes share the quota of a key after one sync', async () => {
      const storage = await fresh();
      const [one, other] = [await startProcess(storage), await startProcess(storage)];
      expect(take(one, 9)).toMatchObject({ allowed: true, remaining: 1 });
      await one.limits.report();
      expect(take(other, 1)).toMatchObject({ allowed: true, remaining: 9 }); // not yet synced
      await other.limits.report();
      expect(take(other, 1)).toMatchObject({ allowed: false, remaining: 0 });
      expect(take(one, 2)).toMatchObject({ allowed: false }); // the tenth, over the limit of both together
      expect([...one.said, ...other.said]).toEqual([]);
    });

    test('counts are pushed to the store under prefixed names', async () => {
      const storage = await fresh();
      const process = await startProcess(storage);
      take(process, 7);
      process.limits.perAddress.take('2001:db8::/64');
      const prefix = name === 'postgres_redis' ? 'signpost:rl:' : '';
      const reported = { [`${prefix}address:2001:db8::/64`]: 1, [`${prefix}key:k1`]: 7 };
      await eventually(async () => Object.keys(await stored(storage)).length === 2);
      expect(await stored(storage)).toEqual(reported);
      take(process, 3);
      await eventually(async () => (await stored(storage))[`${prefix}key:k1`] === 10);
    });

    test('counts that exceed one round are sent in the next ones', async () => {
      const storage = await fresh();
      const process = await startProcess(storage);
      for (let n = 0; n < 60; n += 1) take(process, 1, `k${n}`);
      await eventually(async () => Object.keys(await stored(storage)).length === 60);
    });

    test('an ended window frees the key in every process', async () => {
      const storage = await fresh();
      const [one, other] = [await startProcess(storage, 8), await startProcess(storage, 8)];
      take(one, 10);
      await one.limits.report();
      take(other, 1);
      await other.limits.report();
      expect(take(one, 1)).toMatchObject({ allowed: false });
      expect(take(other, 1)).toMatchObject({ allowed: false });
      await eventually(() => take(one, 1)?.allowed === true);
      await one.limits.report();
      await eventually(() => take(other, 1)?.allowed === true);
      await other.limits.report();
      expect(take(other, 1)).toMatchObject({ allowed: true });
    });

    test('closing stops all counting and cleanup', async () => {
      const storage = await fresh();
      const process = await startProcess(storage);
      take(process, 1);
      await process.limits.report();
      take(process, 1);
      await process.limits.close();
      expect(take(process, 1)).toMatchObject({ allowed: true, remaining: 7 });
      await process.limits.report();
      expect(Object.values(await stored(storage))).toEqual([1]);
      expect(process.said).toEqual([]);
    });
  });
}

test('embedded storage counts in memory and never queries the database', () => {
  const storage = { kind: 'embedded', dataDir: '' } as const;
  const config = { storage, api: limitsOf(2, 1) };
  const openPool = () => {
    throw new Error('asked for a connection');
  };
  const limits = openRateLimiters(plainService({ config, database: { openPool }, log: silent }));
  const allowed = (limiter: 'perKey' | 'perAddress') =>
    [1, 2, 3].map(() => limits[limiter].take('x').allowed);
  expect(allowed('perKey')).toEqual([true, true, false]);
  expect(allowed('perAddress')).toEqual([true, false, false]);
});

test.skipIf(lacks('postgres', 'rate limits on PostgreSQL'))(
  'rows of windows that ended over a minute ago are deleted',
  async () => {
    const { storage, close } = await freshStorage('postgres');
    const database = await openDatabase(storage, silent);
    const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
    const rows = [
      ['long ended', minutesAgo(2)],
      ['just ended', minutesAgo(0.5)],
      ['running', minutesAgo(-1)],
    ];
    for (const row of rows) {
      await database.pool.query('INSERT INTO rate_limit VALUES ($1, 1, $2)', row);
    }
    const store = openRateLimitStore(storage, database);
    await store?.sweep();
    expect(Object.keys(await stored(storage))).toEqual(['just ended', 'running']);
    await store?.close();
    await database.close();
    await close();
  },
);

describe('While the store is unavailable', () => {
  async function outage(storage: Storage, stop: () => Promise<void>, start: () => Promise<void>) {
    // Longer than any outage here.
    const [one, other] = [await startProcess(storage, 600), await startProcess(storage, 600)];
    take(one, 2);
    await one.limits.report();
    await stop();
    for (let round = 0; round < 3; round += 1) {
      take(one, 1);
      await one.limits.report();
    }
    expect(one.said).toEqual([alone]); // logged once for all attempts
    expect(take(one, 5)).toMatchObject({ allowed: true, remaining: 0 });
    expect(take(one, 1)).toMatchObject({ allowed: false }); // still counted
    await start();
    await eventually(() => {
      one.limits.perAddress.take('192.0.2.1');
      return one.said.length > 1;
    });
    expect(one.said).toEqual([alone, together]);
    expect(take(one, 1)).toMatchObject({ allowed: false });
    take(one, 10, 'k2');
    await one.limits.report();
    take(other, 1, 'k2');
    await other.limits.report();
    expect(take(other, 1, 'k2')).toMatchObject({ allowed: false });
  }

  const redisIsMissing = storages.some(({ available }) => !available);
  test.skipIf(redisIsMissing)('each process counts locally and reconnects to Redis', async () => {
    const fresh = await freshStorage('postgres_redis');
    onTestFinished(fresh.close);
    const { redis } = fresh;
    if (redis === null) throw new Error('this storage has a Redis');
    await outage(fresh.storage, redis.kill, redis.restart);
  });

  test.skipIf(lacks('postgres', 'outages of PostgreSQL'))(
    'each process counts locally and reconnects to PostgreSQL',
    async () => {
      const server = await startPostgres();
      onTestFinished(server.close);
      const storage = { kind: 'postgres', databaseUrl: server.url } as const;
      const database = await openDatabase(storage, silent);
      await migrate(database.pool);
      await database.close();
      await outage(storage, server.stop, server.restart);
    },
  );
});
