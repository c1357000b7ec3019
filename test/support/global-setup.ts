/** Once a run: one PostgreSQL for everybody, and databases with all tables in them to copy from. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import type { Storage } from '../../src/config.ts';
import { openDatabase } from '../../src/db/client.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import { findProgram } from './programs.ts';
import { type PostgresServer, startPostgres } from './servers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A server of this run; null where PostgreSQL is not installed. */
    readonly postgresUrl: string | null;
    /** A data directory of the embedded storage, to be copied. */
    readonly embeddedTemplate: string;
  }
}

/** The database on the server that fresh ones are copies of. */
export const TEMPLATE = 'signpost_template';

const host = new URL('../../dist/src/db/embedded/host.js', import.meta.url);

/** Called by Vitest; what it returns is called at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(host)) {
    throw new Error(
      'the tests need the compiled project: run `npm test`, or node scripts/setup.mjs',
    );
  }
  const directory = await mkdtemp(join(tmpdir(), 'signpost-embedded-'));
  const [server] = await Promise.all([
    findProgram('postgres') === undefined ? null : startTemplateServer(),
    fill({ kind: 'embedded', dataDir: directory }),
  ]);
  project.provide('postgresUrl', server?.url ?? null);
  project.provide('embeddedTemplate', directory);
  return async () => {
    await server?.close();
    await rm(directory, { recursive: true, force: true });
  };
}

async function startTemplateServer(): Promise<PostgresServer> {
  const server = await startPostgres();
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = TEMPLATE;
  await fill({ kind: 'postgres', databaseUrl: url.href });
  return server;
}

async function fill(storage: Storage): Promise<void> {
  const log = pino({ level: 'silent' });
  const database = await openDatabase(storage, log);
  await migrate(database.pool);
  await (await openQueueBackend(storage, database, log)).close();
  await database.close();
}
