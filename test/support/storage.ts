/** Every storage that Signpost runs on, fresh for each caller. */
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
 * In every run, for what the storages could do differently: transactions, notifications, migrations, locks, whole lives.
 * For `describe.each(storages)`-like loops; use `describe.skipIf(!available)`. What is not available is reported.
 */
export const storages: readonly StorageCase[] = [
  storageCase('embedded', null),
  storageCase('postgres', missing('postgres')),
  storageCase('postgres_redis', missing('postgres') ?? missing('redis-server')),
];

/** For tests to which it is nothing what they run on: PostgreSQL where it is installed takes the least of the machine. */
export const anyStorage: StorageName = missing('postgres') === null ? 'postgres' : 'embedded';

/** Those that src/db can tell apart: Redis holds the queue only. In every run, as `storages` is. */
export const databases: readonly StorageCase[] = storages.filter(
  ({ name }) => name !== 'postgres_redis',
);

/** For what is the same on all of them: `quick` alone (PostgreSQL unless told), and every storage in the long run. */
export function storagesOfRun(...quick: readonly StorageName[]): readonly StorageCase[] {
  const wanted = quick.length === 0 ? [anyStorage] : quick;
  return rowsOfRun(storages, ({ name }) => wanted.includes(name));
}

/** The same for what never sees the queue. */
export function databasesOfRun(): readonly StorageCase[] {
  return rowsOfRun(databases, ({ name }) => name === anyStorage);
}

export type FreshStorage = {
  readonly storage: Storage;
  /** The caller's own Redis, to be killed or emptied; null where the storage has none. */
  readonly redis: RedisServer | null;
  /** Close what uses it first. */
  close(): Promise<void>;
};

/** A database of the caller's own with all tables in it, or with none where `empty` is set. */
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
  // A thousand files: the program takes a tenth of the processor's time that node:fs does.
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
