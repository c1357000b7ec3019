/** `signpost rotate-keys`: uses its own environment's keys and database, not the API. */

import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { derivedSecretNames } from '../certificates/vault/derived-secrets.ts';
import { type OpenedVault, openVault } from '../certificates/vault/open-vault.ts';
import { type Resealed, reseal, sealedWithOthers, sumOf } from '../certificates/vault/reseal.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { LOCAL_CA } from '../config/variables.ts';
import { type Database, openDatabase } from '../db/engine/client.ts';
import {
  countsInWords,
  createSealedStore,
  type SealedColumn,
  type SealedCount,
} from '../db/issuance/sealed-columns.ts';
import { type CliExit, exitDone, exitFailed, type Io, wrongUsage } from './command.ts';

/** Other variables are ignored, even invalid ones. */
const relevant = /^(?:DATABASE_URL|DATA_DIR|KEY_ENCRYPTION_KEY)$/;
const ROWS_A_LINE = 5_000;
const SHOWN_ROWS_MAX = 10;

/** Can be stopped and restarted at any time. Never shows keys. Storage errors are `failed`. */
export async function runRotateKeys(
  { check: isCheck = false }: { readonly check?: boolean },
  io: Io,
): Promise<CliExit> {
  const settings = settingsFrom(io.env);
  if (!settings.ok) return settings.refusal;
  const { storage } = settings.config;
  if (storage.kind === 'embedded' && !existsSync(storage.dataDir)) {
    return exitFailed(`DATA_DIR (${storage.dataDir}) is empty and DATABASE_URL is not set`);
  }
  try {
    return await withDatabase(settings.config, async (database) => {
      if (!(await isUpToDate(database))) {
        return exitFailed('the database schema is outdated: start Signpost once to migrate it');
      }
      const opened = await openVault(settings.config, database);
      return isCheck ? check(opened, io) : await rotate(opened, database, io);
    });
  } catch (fault) {
    return exitFailed(fault instanceof Error ? reasonOf(fault) : String(fault));
  }
}

async function withDatabase<T>(
  { storage }: Config,
  act: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(storage, pino({ level: 'silent' }));
  try {
    return await act(database);
  } finally {
    await database.close();
  }
}

async function rotate(
  { vault, stored, loadSecrets }: OpenedVault,
  { pool }: Database,
  io: Io,
): Promise<CliExit> {
  // Loaded first, so that they are not derived from the new key.
  await loadSecrets();
  const before = sealedWithOthers(vault, stored);
  const onProgress = createProgress(before, io.err);
  const resealed = await reseal({ vault, store: createSealedStore(pool), onProgress });
  io.out(`re-encrypted: ${countsInWords(resealed.done)}\n`);
  return outcomeOf(resealed, io);
}

/** Prints a line for every ROWS_A_LINE rows of a column. Later passes repeat no lines. */
export function createProgress(
  before: readonly SealedCount[],
  print: (line: string) => void,
): (column: SealedColumn, done: number) => void {
  const said = new Map<SealedColumn, number>();
  return (column, done) => {
    const total = sumOf(before.filter((one) => one.column === column));
    const nth = Math.floor(done / ROWS_A_LINE);
    if (nth <= (said.get(column) ?? 0) || done >= total) return;
    said.set(column, nth);
    print(`${column.words[1]}: ${done.toLocaleString('en')} of ${total.toLocaleString('en')}\n`);
  };
}

function outcomeOf({ left, unreadable }: Resealed, io: Io): CliExit {
  for (const { column, id } of unreadable.slice(0, SHOWN_ROWS_MAX)) {
    io.err(
      `${column.table} ${id}: the ${column.words[0]} is damaged and cannot be decrypted with any key\n`,
    );
  }
  if (unreadable.length > 0) {
    return exitFailed(
      `${unreadable.length} damaged: recreate the certificates or secrets they belong to. Keep the old key until then`,
    );
  }
  if (left.length > 0) {
    return exitFailed(
      `Still encrypted with another key: ${countsInWords(left)}. A process changed them, or has another first key. Run this again`,
    );
  }
  io.out(nothingLeft);
  return exitDone;
}

function check({ vault, stored }: OpenedVault, io: Io): CliExit {
  const left = sealedWithOthers(vault, stored);
  const current = stored.filter((one) => !left.includes(one));
  const secrets = sumOf(stored.filter(({ column }) => column.table === 'derived_secret'));
  io.out(`encrypted with the first key: ${countsInWords(current)}\n`);
  io.out(`encrypted with another key: ${countsInWords(left)}\n`);
  if (secrets < derivedSecretNames.length) io.out('not stored yet: derived secrets\n');
  else if (left.length === 0) io.out(nothingLeft);
  const isDone = left.length === 0 && secrets === derivedSecretNames.length;
  return isDone ? exitDone : { kind: 'negative' };
}

type LoadedSettings =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly refusal: CliExit };

/** Required on servers; keys do not depend on it. */
const standIn = { ACME_DIRECTORY_URL: LOCAL_CA };

function settingsFrom(env: Io['env']): LoadedSettings {
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => relevant.test(name)));
  const refusal = (problem: string) => ({ ok: false, refusal: wrongUsage(problem) }) as const;
  if (!given['KEY_ENCRYPTION_KEY']) {
    return refusal('KEY_ENCRYPTION_KEY is required: the new key, a comma and the previous key');
  }
  const loaded = loadConfig({ ...given, ...standIn });
  if (loaded.ok) return loaded;
  return refusal(
    loaded.problems.map(({ variable, problem }) => `${variable} ${problem}`).join('; '),
  );
}

async function isUpToDate({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query<{ known: boolean }>(
    `SELECT to_regclass('derived_secret') IS NOT NULL AS known`,
  );
  return rows[0]?.known === true;
}

/** A server with several addresses that does not answer has an error without message. */
function reasonOf(fault: Error): string {
  const [first] = fault instanceof AggregateError ? fault.errors : [];
  return fault.message || (first instanceof Error ? first.message : fault.name);
}

const nothingLeft =
  'Everything is encrypted with the first key of KEY_ENCRYPTION_KEY. The other keys are no longer needed.\n';
