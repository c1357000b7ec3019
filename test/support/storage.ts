/** Fresh storages of every kind. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { inject } from 'vitest';
import type { Storage } from '../../src/config/config.ts';
import { TEMPLATE } from './global-setup.ts';
import { missing, noteNotRun } from './programs.ts';
import { rowsOfRun } from './run.ts';
import { type RedisServer, startRedis } from './servers.ts';

const run = promisify(execFile);

export type StorageName = Storage['kind'];

export type StorageCase = {
  readonly name: StorageName;
  readonly available: boolean;
  /** Why it is not available. */
  readonly reason: string | null;
};

/**
 * In every run, for behavior that storages could implement differently: transactions, notifications, migrations, locks,
 * whole lives. For `describe.each(storages)`-like loops; use `describe.skipIf(!available)`, which reports unavailable
 * ones.
 */
export const storages: readonly StorageCase[] = [
  storageCase('embedded', null),
  storageCase('postgres', missing('postgres')),
  storageCase('postgres_redis', missing('postgres') ?? missing('redis-server')),
];

/** For tests that work on any storage: PostgreSQL, if installed, uses the least CPU time. */
export const anyStorage: StorageName = missing('postgres') === null ? 'postgres' : 'embedded';

/** Distinct databases for src/db: Redis holds the queue only. In every run, as `storages` is. */
export const databases: readonly StorageCase[] = storages.filter(
  ({ name }) => name !== 'postgres_redis',
);

/** For behavior that all share: `quick` (default PostgreSQL), and each in the long run. */
export function storagesOfRun(...quick: readonly StorageName[]): readonly StorageCase[] {
  const wanted = quick.length === 0 ? [anyStorage] : quick;
  return rowsOfRun(storages, ({ name }) => wanted.includes(name));
}

/** The same for tests without a queue. */
export function databasesOfRun(): readonly StorageCase[] {
  return rowsOfRun(databases, ({ name }) => name === anyStorage);
}

export type FreshStorage = {
  readonly storage: Storage;
  /** A private Redis to kill or empty; null if the storage has none. */
  readonly redis: RedisServer | null;
  /** Close its users first. */
  close(): Promise<void>;
};

/** A new database with all tables, or without any if `empty` is set. */
export async function freshStorage(
  name: StorageName = anyStorage,
  { empty = false }: { empty?: boolean } = {},
): Promise<FreshStorage> {
  if (name === 'embedded') return freshEmbedded(empty);
  const { databaseUrl, drop } = await freshDatabase(empty);
  if (name === 'postgres') {
    return { storage: { kind: 'postgres', databaseUrl }, redis: null, close: drop };
  }
  const redis = await startRedis();
  return {
    storage: { kind: 'postgres_redis', databaseUrl, redisUrl: redis.url },
    redis,
    async close() {
      await Promise.all([drop(), redis.close()]);
    },
  };
}

async function freshEmbedded(empty: boolean): Promise<FreshStorage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signpost-embedded-'));
  // A thousand files: `cp` needs a tenth of the CPU time of node:fs.
  if (!empty) await run('cp', ['-R', `${inject('embeddedTemplate')}/.`, dataDir]);
  return {
    storage: { kind: 'embedded', dataDir },
    redis: null,
    close: async () => void (await run('rm', ['-rf', dataDir])),
  };
}

async function freshDatabase(
  empty: boolean,
): Promise<{ databaseUrl: string; drop: () => Promise<void> }> {
  const server = inject('postgresUrl');
  if (server === null) throw new Error(missing('postgres') ?? 'PostgreSQL was not started');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(server);
  url.pathname = name;
  await command(server, `CREATE DATABASE ${name} TEMPLATE ${empty ? 'template0' : TEMPLATE}`);
  return {
    databaseUrl: url.href,
    drop: () => command(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function command(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function storageCase(name: StorageName, reason: string | null): StorageCase {
  if (reason !== null) noteNotRun(`storage ${name}`, reason);
  return { name, available: reason === null, reason };
}
