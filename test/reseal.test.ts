import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { reseal, sealedWithOthers } from '../src/certificates/vault/reseal.ts';
import { createVault } from '../src/certificates/vault/vault.ts';
import { type Database, openDatabase } from '../src/db/engine/client.ts';
import {
  countsInWords,
  createSealedStore,
  type ResealedRow,
  type SealedStore,
  sealedColumns,
} from '../src/db/issuance/sealed-columns.ts';
import { closeAfterEach } from './support/closings.ts';
import { freshStorage, type StorageName, storages, storagesOfRun } from './support/storage.ts';

/** Several processes: tens of seconds on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

const old = createVault(randomBytes(32));
const newKey = randomBytes(32);
const after = createVault(newKey);
const CERTIFICATES = 1_100; // more than two batches
const closings = closeAfterEach();

/** Seals everything with `old` and returns a vault that opens it and seals with a newer key. */
async function aDatabase(name: StorageName) {
  const oldKey = randomBytes(32);
  const before = createVault(oldKey);
  const fresh = await freshStorage(name);
  closings.push(fresh.close);
  const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  closings.push(() => database.close());
  const webhookId = randomUUID();
  const seal = (boundTo: string) => before.seal(Buffer.from(`of ${boundTo}`), boundTo);
  await fill(database, seal, webhookId);
  const store = createSealedStore(database.pool);
  const vault = createVault(newKey, oldKey);
  const progress: string[] = [];
  const deps = {
    store,
    vault,
    onProgress: (column: (typeof sealedColumns)[number], count: number) =>
      void progress.push(`${column.words[1]} ${count}`),
  };
  return { database, before, store, vault, deps, progress, webhookId };
}

async function fill(
  { pool, prisma }: Database,
  seal: (boundTo: string) => Uint8Array<ArrayBuffer>,
  webhookId: string,
): Promise<void> {
  const directoryUrl = 'https://ca.test/dir';
  await prisma.derivedSecret.create({
    data: { name: 'target', sealedValue: seal('derived_secret/target') },
  });
  await prisma.acmeAccount.create({
    data: { directoryUrl, sealedKey: seal(`acme_account/${directoryUrl}`) },
  });
  await prisma.localAuthority.create({
    data: { id: 'root', certificate: '', sealedKey: seal('local_authority/root') },
  });
  const [sealedSecret, sealedOldSecret] = [1, 2].map(() => seal(`webhook/${webhookId}`));
  if (sealedSecret === undefined || sealedOldSecret === undefined) throw new Error('not sealed');
  await prisma.webhook.create({
    data: { id: webhookId, url: 'https://hook.test', sealedSecret, sealedOldSecret },
  });
  const project = { id: randomUUID(), name: 'Shop', slug: 'shop', plan: 'pro' } as const;
  await prisma.project.create({ data: project });
  const domainId = randomUUID();
  await pool.query(
    `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since)
     VALUES ($1, $2, 'a.test', 't', 'pending', now(), now())`,
    [domainId, project.id],
  );
  const ids = Array.from({ length: CERTIFICATES }, () => randomUUID());
  await pool.query(
    `INSERT INTO certificate (id, domain_id, hostname, status, sealed_key)
     SELECT id, $1, 'a.test', 'failed', sealed FROM unnest($2::uuid[], $3::bytea[]) AS made (id, sealed)`,
    [domainId, ids, ids.map((id) => seal(`certificate/${id}`))],
  );
}

/** Checks that the newer key alone opens everything, unchanged. */
async function expectAllOpen(store: SealedStore): Promise<void> {
  for (const column of sealedColumns) {
    const rows = await store.next(column, old.header, { after: null, limit: 10_000 });
    expect(rows.length).toBeGreaterThan(0);
    for (const { id, sealed } of rows) {
      const boundTo = `${column.table}/${id}`;
      expect(after.open(sealed, boundTo).toString()).toBe(`of ${boundTo}`);
    }
  }
}

/** The same store, with one write just before the first batch of this column. */
function justBefore(
  store: SealedStore,
  name: string,
  write: (rows: readonly ResealedRow[]) => Promise<void>,
): SealedStore {
  let isWritten = false;
  return {
    ...store,
    async replace(column, rows) {
      if (`${column.table}.${column.column}` === name && !isWritten) {
        isWritten = true;
        await write(rows);
      }
      return store.replace(column, rows);
    },
  };
}

const all =
  '1 derived secret, 1 account key, 1 key of the local authority, 1 webhook secret, 1 replaced webhook secret ' +
  'and 1,100 certificate keys';

for (const { name, available } of storagesOfRun().filter((one) => one.name !== 'postgres_redis')) {
  describe.skipIf(!available)(`On ${name}, data sealed with the old key`, () => {
    it('is resealed once and no longer needs the old key', async () => {
      const { store, vault, deps, progress } = await aDatabase(name);
      expect(countsInWords(sealedWithOthers(vault, await store.count()))).toBe(all);
      const { done, left, unreadable } = await reseal(deps);
      expect([countsInWords(done), left, unreadable]).toEqual([all, [], []]);
      expect(progress.slice(-3)).toEqual([500, 1_000, 1_100].map((at) => `certificate keys ${at}`));
      await expectAllOpen(store);
      const again = await reseal(deps);
      expect([countsInWords(again.done), again.left]).toEqual(['nothing', []]);
    });

    it('resumes after an interruption', async () => {
      const { store, deps } = await aDatabase(name);
      let batches = 0;
      const breaking: SealedStore = {
        ...store,
        async replace(column, rows) {
          batches += 1;
          if (batches === 7) throw new Error('the process was killed');
          return store.replace(column, rows);
        },
      };
      await expect(reseal({ ...deps, store: breaking })).rejects.toThrow('killed');
      const { done, left } = await reseal(deps);
      expect([countsInWords(done), left]).toEqual(['600 certificate keys', []]);
      await expectAllOpen(store);
    });

    it('is resealed by two processes at once, each row by one of them', async () => {
      const { store, deps } = await aDatabase(name);
      const both = await Promise.all([reseal(deps), reseal(deps)]);
      expect(countsInWords(both.flatMap(({ done }) => done))).toBe(all);
      await expectAllOpen(store);
    });

    it('is not overwritten if it changed after it was read', async () => {
      const { database, store, vault, deps, webhookId: id } = await aDatabase(name);
      const boundTo = `webhook/${id}`;
      const { webhook } = database.prisma;
      // Like a rotation by the API: the old secret moves to the other column.
      const rotating = justBefore(store, 'webhook.sealed_secret', async ([row]) => {
        const sealedSecret = vault.seal(Buffer.from('a newer secret'), boundTo);
        const sealedOldSecret = Buffer.from(row?.sealed ?? []);
        await webhook.update({ where: { id }, data: { sealedSecret, sealedOldSecret } });
      });
      expect((await reseal({ ...deps, store: rotating })).left).toEqual([]);
      const row = await webhook.findUniqueOrThrow({ where: { id } });
      expect(after.open(row.sealedSecret, boundTo).toString()).toBe('a newer secret');
      expect(after.open(row.sealedOldSecret ?? row.sealedSecret, boundTo).toString()).toBe(
        `of ${boundTo}`,
      );
    });

    it('is found even in a column that was already done', async () => {
      const { database, before, store, deps, webhookId: id } = await aDatabase(name);
      const boundTo = `webhook/${id}`;
      const moving = justBefore(store, 'certificate.sealed_key', async () => {
        const sealedOldSecret = before.seal(Buffer.from('moved'), boundTo);
        await database.prisma.webhook.update({ where: { id }, data: { sealedOldSecret } });
      });
      const { done, left } = await reseal({ ...deps, store: moving });
      expect(left).toEqual([]);
      expect(countsInWords(done)).toContain('2 replaced webhook secrets');
    });

    it('is reported if damaged, and the rest is resealed', async () => {
      const { database, store, deps } = await aDatabase(name);
      const where = { directoryUrl: 'https://ca.test/dir' };
      const { sealedKey } = await database.prisma.acmeAccount.findUniqueOrThrow({ where });
      sealedKey.set([(sealedKey.at(-1) ?? 0) ^ 1], sealedKey.length - 1);
      await database.prisma.acmeAccount.update({ where, data: { sealedKey } });
      const { done, left, unreadable } = await reseal(deps);
      expect(countsInWords(done)).toBe(all.replace(' 1 account key,', ''));
      expect(countsInWords(left)).toBe('1 account key');
      expect(unreadable.map(({ column, id }) => `${column.table} ${id}`)).toEqual([
        'acme_account https://ca.test/dir',
      ]);
      expect(sealedWithOthers(deps.vault, await store.count())).toHaveLength(1);
    });
  });
}

const onPostgres = storages.find(({ name }) => name === 'postgres');

describe.skipIf(!onPostgres?.available)('A locked row', () => {
  it('is skipped, reported and resealed by the next run', async () => {
    const { database, store, deps } = await aDatabase('postgres');
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM local_authority FOR UPDATE');
    const first = await reseal(deps);
    expect(countsInWords(first.left)).toBe('1 key of the local authority');
    await client.query('COMMIT');
    client.release();
    expect((await reseal(deps)).left).toEqual([]);
    await expectAllOpen(store);
  });
});
