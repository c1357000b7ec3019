/** Starts one PostgreSQL per run. Creates its data and the embedded one, with all tables, once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';
import type { Storage } from '../../src/config/config.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { openQueueBackend } from '../../src/queue/backend.ts';
import { copyInto, prepared } from './prepared.ts';
import { findProgram } from './programs.ts';
import { type PostgresServer, startPostgres } from './servers.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run; null if PostgreSQL is not installed. */
    readonly postgresUrl: string | null;
    /** A data directory of the embedded storage, to copy. */
    readonly embeddedTemplate: string;
  }
}

/** The template of fresh databases on the server. */
export const TEMPLATE = 'signpost_template';

const host = new URL('../../dist/src/db/engine/embedded/host.js', import.meta.url);

/** Vitest calls it, and its result at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(host)) {
    throw new Error(
      'the tests need the compiled project: run `npm test`, or node scripts/setup.mjs',
    );
  }
  const [embedded, server] = await Promise.all([
    embeddedTemplate(),
    findProgram('postgres') === undefined ? null : startTemplateServer(),
  ]);
  project.provide('postgresUrl', server?.url ?? null);
  project.provide('embeddedTemplate', embedded);
  return async () => server?.close();
}

/** The sources of all tables, including the queue's. */
function tables(): readonly Uint8Array[] {
  const migrations = new URL('../../prisma/migrations/', import.meta.url);
  const folders = readdirSync(migrations).filter((name) => !name.includes('.'));
  const files = folders.map((name) => new URL(`${name}/migration.sql`, migrations));
  return [new URL('../../package-lock.json', import.meta.url), ...files].map((file) =>
    readFileSync(file),
  );
}

function embeddedTemplate(): Promise<string> {
  return prepared('embedded', tables(), (dataDir) => fill({ kind: 'embedded', dataDir }));
}

async function startTemplateServer(): Promise<PostgresServer> {
  const program = findProgram('postgres') ?? '';
  const ingredients = [program, ...tables()];
  return startPostgres({ data: await prepared('postgres-tables', ingredients, makeTables) });
}

async function makeTables(folder: string): Promise<void> {
  const server = await startPostgres();
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = TEMPLATE;
  await fill({ kind: 'postgres', databaseUrl: url.href });
  await server.stop();
  await copyInto(folder, server.data);
  await server.close();
}

async function fill(storage: Storage): Promise<void> {
  const log = pino({ level: 'silent' });
  const database = await openDatabase(storage, log);
  await migrate(database.pool);
  await (await openQueueBackend(storage, database, log)).close();
  await database.close();
}
