/**
 * `signpost rotate-keys`: seals everything again that was sealed with another key than the first. Unlike `signpost
 * keys` it is no client of the API: it takes minutes, and goes by the keys and the database of its own environment.
 */
import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { derivedSecretNames } from '../certificates/vault/derived-secrets.ts';
import { type OpenedVault, openVault } from '../certificates/vault/open-vault.ts';
import { type Resealed, reseal, sealedWithOthers, sumOf } from '../certificates/vault/reseal.ts';
import { createVault } from '../certificates/vault/vault.ts';
import { type Config, loadConfig } from '../config/config.ts';
import type { AuditOutcome } from '../core/operations/audit.ts';
import { createAuditStore } from '../db/audit.ts';
import { type Database, openDatabase } from '../db/engine/client.ts';
import {
  createSealedStore,
  inWords,
  type SealedColumn,
  type SealedCount,
} from '../db/issuance/sealed-columns.ts';
import { done, failed, type Io, type Outcome, wrongUsage } from './command.ts';

/** Whatever else the environment holds is not read, be it right or wrong. */
const relevant = /^(?:DATABASE_URL|DATA_DIR|KEY_ENCRYPTION_KEY)$/;
/** How many rows are sealed between two lines of progress. */
const ROWS_A_LINE = 5_000;
/** How many damaged rows are named. */
const SHOWN_ROWS_MAX = 10;

/** `edges`: what edges open is sealed with their key from now on. */
export type RotateOptions = { readonly check?: boolean; readonly edges?: boolean };

/**
 * Reseals all that is stored, or with `check` counts by which key it is sealed. The result goes to standard output,
 * progress to standard error; keys are never shown. May be stopped at any moment and run again. Never rejects for
 * what the storage does: that is `failed`.
 */
export async function runRotateKeys(
  { check: isCheck = false, edges: split = false }: RotateOptions,
  io: Io,
): Promise<Outcome> {
  const settings = settingsFrom(io.env);
  if (!settings.ok) return settings.refusal;
  const { storage } = settings.config;
  if (storage.kind === 'embedded' && !existsSync(storage.dataDir)) {
    return failed(`there is nothing in DATA_DIR (${storage.dataDir}), and DATABASE_URL is not set`);
  }
  try {
    return await withDatabase(settings.config, async (database) => {
      if (!(await isUpToDate(database))) {
        return failed('the database is of an earlier version: start Signpost on it first');
      }
      const opened = await openVault(settings.config, database, { split });
      return isCheck ? check(opened, io) : await rotate(opened, database, io);
    });
  } catch (fault) {
    return failed(fault instanceof Error ? reasonOf(fault) : String(fault));
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

/** With an entry in the audit log, which is there before anything is sealed again and says afterwards how it ended. */
async function rotate(opened: OpenedVault, database: Database, io: Io): Promise<Outcome> {
  const log = createAuditStore(database.prisma);
  const place = await log.record({ ...rotation, at: io.now() });
  let outcome: AuditOutcome = 'failed';
  try {
    const ended = await resealAll(opened, database, io);
    if (ended.kind === 'done') outcome = 'done';
    return ended;
  } finally {
    await log.settle(place, outcome, null);
  }
}

/** Of whoever has the database's address and the keys; there is no API key to name. */
const rotation = {
  operationId: 'rotateKeys',
  object: { kind: 'installation', id: 'KEY_ENCRYPTION_KEY', accountId: null },
  outcome: 'unknown',
  code: null,
  keyId: null,
  sessionId: null,
  byInstallation: true,
  address: null,
  userAgent: null,
  requestId: null,
} as const;

async function resealAll(
  { vault, stored, loadSecrets }: OpenedVault,
  { pool }: Database,
  io: Io,
): Promise<Outcome> {
  // Before anything else, so that they do not come from the new key.
  await loadSecrets();
  const before = sealedWithOthers(vault, stored);
  const onProgress = createProgress(before, io.err);
  const resealed = await reseal({ vault, store: createSealedStore(pool), onProgress });
  io.out(`resealed: ${inWords(resealed.done)}\n`);
  return outcomeOf(resealed, io);
}

/**
 * Returns what prints a line for every 5,000 rows of a column, of as many as there are `before`. A later pass, which
 * begins to count again, repeats none of them.
 */
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

function outcomeOf({ left, unreadable }: Resealed, io: Io): Outcome {
  for (const { column, id } of unreadable.slice(0, SHOWN_ROWS_MAX)) {
    io.err(`${column.table} ${id}: its ${column.words[0]} is damaged, no key opens it\n`);
  }
  if (unreadable.length > 0) {
    return failed(
      `${unreadable.length} damaged: what they were for has to be ordered or made again, and the old key stays until they are gone`,
    );
  }
  if (left.length > 0) {
    return failed(
      `${inWords(left)} left: they are being changed, or a process runs whose first key is another one; run this again`,
    );
  }
  io.out(nothingLeft);
  return done;
}

function check({ vault, stored }: OpenedVault, io: Io): Outcome {
  const left = sealedWithOthers(vault, stored);
  const current = stored.filter((one) => !left.includes(one));
  const secrets = sumOf(stored.filter(({ column }) => column.table === 'derived_secret'));
  io.out(`sealed with the first key: ${inWords(current)}\n`);
  io.out(`sealed with another key: ${inWords(left)}\n`);
  if (secrets < derivedSecretNames.length) io.out('not stored yet: derived secrets\n');
  else if (left.length === 0) io.out(nothingLeft);
  const isDone = left.length === 0 && secrets === derivedSecretNames.length;
  return isDone ? done : { kind: 'negative' };
}

/** Prints the edge keys of KEY_ENCRYPTION_KEY, as an edge is given them in the same variable. Asks nothing. */
export async function printEdgeKey(io: Io): Promise<Outcome> {
  const settings = settingsFrom(io.env);
  if (!settings.ok) return settings.refusal;
  const { keyEncryptionKeys } = settings.config;
  if (keyEncryptionKeys === undefined) return wrongUsage('KEY_ENCRYPTION_KEY is needed');
  const { edgeKeys } = createVault(...keyEncryptionKeys);
  io.out(`${edgeKeys.map((key) => Buffer.from(key).toString('base64')).join(',')}\n`);
  return done;
}

type Settings =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly refusal: Outcome };

function settingsFrom(env: Io['env']): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => relevant.test(name)));
  const refusal = (problem: string) => ({ ok: false, refusal: wrongUsage(problem) }) as const;
  if (!given['KEY_ENCRYPTION_KEY']) {
    return refusal('KEY_ENCRYPTION_KEY is needed: the new key, a comma, and the key of before');
  }
  const loaded = loadConfig(given);
  if (loaded.ok) return loaded;
  return refusal(
    loaded.problems.map(({ variable, problem }) => `${variable} ${problem}`).join('; '),
  );
}

async function isUpToDate({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query<{ known: boolean }>(
    `SELECT to_regclass('audit_entry') IS NOT NULL AS known`,
  );
  return rows[0]?.known === true;
}

/** A server with several addresses that does not answer has no message of its own. */
function reasonOf(fault: Error): string {
  const [first] = fault instanceof AggregateError ? fault.errors : [];
  return fault.message || (first instanceof Error ? first.message : fault.name);
}

const nothingLeft =
  'Everything stored is sealed with the first key of KEY_ENCRYPTION_KEY. No other key is needed any more.\n';
