/** test/flow/key-rotation.test.ts runs it beside a live service. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVault, type Vault } from '../../src/certificates/vault/vault.ts';
import { createProgress } from '../../src/cli/rotate-keys.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createAuthorityKeyStore } from '../../src/db/issuance/authority-keys.ts';
import { sealedColumns } from '../../src/db/issuance/sealed-columns.ts';
import { lacks } from '../support/programs.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { program, signpost } from './cli.ts';

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const [old, newer] = [oldKey.toString('base64'), newKey.toString('base64')];
const directoryUrl = 'https://ca.test/dir';
const boundTo = `acme_account/${directoryUrl}`;
const without = lacks('postgres', 'signpost rotate-keys');

let fresh: FreshStorage;
let database: Database;
let DATABASE_URL: string;

beforeAll(async () => {
  if (without) return;
  fresh = await freshStorage('postgres');
  if (fresh.storage.kind !== 'postgres') throw new Error('freshStorage gave another storage');
  DATABASE_URL = fresh.storage.databaseUrl;
  database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  const sealed = createVault(oldKey).seal(Buffer.from('an account key'), boundTo);
  await createAuthorityKeyStore(database.prisma).keepAccountKey(directoryUrl, sealed);
});
afterAll(async () => {
  await database?.close();
  await fresh?.close();
});

/** Runs it with these keys and checks that the output contains none of them. */
async function rotateKeys(keys: string, ...args: readonly string[]) {
  const ran = await signpost(['rotate-keys', ...args], { DATABASE_URL, KEY_ENCRYPTION_KEY: keys });
  for (const key of [oldKey, newKey]) {
    for (const form of ['base64', 'hex'] as const) {
      expect(ran.stdout + ran.stderr).not.toContain(key.toString(form));
    }
  }
  return ran;
}

/** Number of statements of another process that wait for a lock; `act` is applied to each. */
async function waiting(act: string): Promise<number> {
  const { rowCount } = await database.pool.query(
    `SELECT ${act} FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rowCount ?? 0;
}

async function storeCertificate(vault: Vault): Promise<void> {
  const { prisma } = database;
  const project = { id: randomUUID(), name: 'Shop', slug: 'shop', plan: 'pro' } as const;
  await prisma.project.create({ data: project });
  const [id, domainId, hostname] = [randomUUID(), randomUUID(), 'a.test'];
  const now = new Date();
  const domain = { id: domainId, projectId: project.id, hostname, target: 't' };
  const times = { addedAt: now, pendingSince: now };
  await prisma.domain.create({ data: { ...domain, ...times, status: 'pending' } });
  const sealedKey = vault.seal(Buffer.from('a private key'), `certificate/${id}`);
  await prisma.certificate.create({
    data: { id, domainId, hostname, status: 'failed', sealedKey },
  });
}

describe.skipIf(without)('signpost rotate-keys', { timeout: 180_000 }, () => {
  it('rejects keys that cannot open the stored data, and changes nothing', async () => {
    for (const args of [[], ['--check']]) {
      const { code, stdout, stderr } = await rotateKeys(newer, ...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toBe(
        'signpost: no key in KEY_ENCRYPTION_KEY opens 1 account key of the database. Append the previous key ' +
          'after a comma (docs/run/key-rotation.md)\n',
      );
    }
    expect(await database.prisma.derivedSecret.count()).toBe(0);
  });

  it('--check lists the work and does none of it', async () => {
    const { code, stdout } = await rotateKeys(`${newer},${old}`, '--check');
    expect([code, stdout]).toEqual([
      1,
      'encrypted with the first key: nothing\nencrypted with another key: 1 account key\nnot stored yet: derived secrets\n',
    ]);
    expect(await database.prisma.derivedSecret.count()).toBe(0);
  });

  const nothingLeft =
    'Everything is encrypted with the first key of KEY_ENCRYPTION_KEY. The other keys are no longer needed.\n';

  it('seals everything with the first key and says that the others can go', async () => {
    expect(await rotateKeys(`${newer},${old}`)).toEqual({
      code: 0,
      stdout: `re-encrypted: 1 account key\n${nothingLeft}`,
      stderr: '',
    });
    const { sealedKey } = await database.prisma.acmeAccount.findFirstOrThrow();
    expect(createVault(newKey).open(sealedKey, boundTo).toString()).toBe('an account key');
  });

  it('has nothing left to do, even with the new key alone', async () => {
    const again = { code: 0, stdout: `re-encrypted: nothing\n${nothingLeft}`, stderr: '' };
    expect(await rotateKeys(newer)).toEqual(again);
    expect(await rotateKeys(newer, '--check')).toEqual({
      code: 0,
      stdout: `encrypted with the first key: 6 derived secrets and 1 account key\nencrypted with another key: nothing\n${nothingLeft}`,
      stderr: '',
    });
  });

  it('resumes after a kill', async () => {
    const third = Buffer.alloc(32, 3).toString('base64');
    await storeCertificate(createVault(newKey));
    const holder = await database.pool.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE certificate IN EXCLUSIVE MODE'); // which is resealed last
    const env = { DATABASE_URL, KEY_ENCRYPTION_KEY: `${third},${newer}` };
    const child = spawn(process.execPath, [program, 'rotate-keys'], { env, cwd: tmpdir() });
    const ended = once(child, 'close');
    await until('it waits', async () => (await waiting('pid')) > 0);
    child.kill('SIGKILL');
    await ended;
    await waiting('pg_terminate_backend(pid)'); // or it would finish its last statement
    await until('it is gone', async () => (await waiting('pid')) === 0);
    await holder.query('ROLLBACK');
    holder.release();
    expect((await rotateKeys(`${third},${newer}`, '--check')).stdout).toBe(
      'encrypted with the first key: 6 derived secrets and 1 account key\nencrypted with another key: 1 certificate key\n',
    );
    expect(await rotateKeys(`${third},${newer}`)).toEqual({
      code: 0,
      stdout: `re-encrypted: 1 certificate key\n${nothingLeft}`,
      stderr: '',
    });
  });

  it.each([
    [{}, [], 'KEY_ENCRYPTION_KEY is required: the new key, a comma and the previous key'],
    [
      { KEY_ENCRYPTION_KEY: `${newer},short` },
      [],
      'KEY_ENCRYPTION_KEY must be 32 bytes in base64 or hex (openssl rand -base64 32), as number 2 of 2 is not',
    ],
    [
      { KEY_ENCRYPTION_KEY: newer },
      [newer],
      "too many arguments for 'rotate-keys'. Expected 0 arguments but got 1.",
    ],
  ])('with %o and %j exits with 2 and says why', async (env, args, problem) => {
    const { code, stdout, stderr } = await signpost(['rotate-keys', ...args], env);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^Usage: signpost rotate-keys \[options\]/);
    expect(stderr.endsWith(`\nsignpost: ${problem}\n`)).toBe(true);
  });

  it('creates no database', async () => {
    const DATA_DIR = join(tmpdir(), 'signpost-is-not-here');
    const env = { KEY_ENCRYPTION_KEY: newer, DATA_DIR };
    const { code, stderr } = await signpost(['rotate-keys'], env);
    expect(code).toBe(2);
    expect(stderr).toContain(`DATA_DIR (${DATA_DIR}) is empty`);
  });

  it('reports an unavailable database in one line', async () => {
    const env = {
      KEY_ENCRYPTION_KEY: newer,
      DATABASE_URL: 'postgres://signpost:secret@127.0.0.1:1/s',
    };
    const { code, stderr } = await signpost(['rotate-keys'], env);
    expect([code, stderr]).toEqual([2, 'signpost: connect ECONNREFUSED 127.0.0.1:1\n']);
  });
});

it('reports progress once per column, however many passes there are', () => {
  const lines: string[] = [];
  const before = sealedColumns.map((column) => ({
    column,
    header: new Uint8Array(),
    count: 12_000,
  }));
  const onProgress = createProgress(before, (line) => lines.push(line));
  for (const column of sealedColumns.slice(0, 2)) {
    for (const done of [500, 5_000, 5_500, 10_000, 12_000]) onProgress(column, done);
  }
  for (const column of sealedColumns.slice(0, 2)) onProgress(column, 500);
  expect(lines).toEqual([
    'derived secrets: 5,000 of 12,000\n',
    'derived secrets: 10,000 of 12,000\n',
    'account keys: 5,000 of 12,000\n',
    'account keys: 10,000 of 12,000\n',
  ]);
});
