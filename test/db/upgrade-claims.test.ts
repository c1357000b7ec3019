/** Claims of before there were nonces: what they have seen counts, and nobody is asked for a record because of an upgrade. */
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideCheck } from '../../src/core/life/check.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { migrate, projectRoot, readMigrations } from '../../src/db/engine/migrate.ts';
import { anObservation, noon, right } from '../support/builders.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

const HOUR = 3_600_000;
const MIGRATION = '20261201000010_claim_proofs';

/** Each a domain of a project of its own: what there was, and what the upgrade makes of it. */
const rows = {
  waiting: ['waiting.com', 'pending', { checked: true }, 'awaited'],
  unchecked: ['unchecked.com', 'pending', {}, null],
  holder: ['held.com', 'live', { checked: true }, 'awaited'],
  claimant: ['held.com', 'pending', { checked: true }, 'held_before'],
  one: ['contested.com', 'pending', { checked: true }, 'awaited'],
  other: ['contested.com', 'pending', { checked: true }, 'awaited'],
  drifted: ['drifted.com', 'drifted', { checked: true, ended: true }, 'awaited'],
  late: ['late.com', 'failed', { checked: true }, 'awaited'],
  lapsed: ['lapsed.com', 'failed', { checked: true, ended: true }, 'lapsed'],
  removed: ['removed.com', 'live', { checked: true, removed: true }, null],
} as const satisfies Readonly<
  Record<string, readonly [string, string, Past, 'awaited' | 'held_before' | 'lapsed' | null]>
>;
type Past = { readonly checked?: true; readonly ended?: true; readonly removed?: true };
type Name = keyof typeof rows;
const names = Object.keys(rows) as readonly Name[];

describe.each(databases.filter(({ available }) => available))(
  'a $name database of before',
  ({ name }) => {
    let fresh: FreshStorage;
    let database: Database;
    let folder: string;
    const ids = Object.fromEntries(names.map((one) => [one, randomUUID()])) as Record<Name, string>;

    /** As a version before this one adds a domain. */
    async function insert(id: string, hostname: string, status: string, past: Past) {
      const projectId = randomUUID();
      const slug = `p-${projectId}`;
      await database.pool.query(
        `INSERT INTO project (id, name, slug) VALUES ('${projectId}', 'P', '${slug}')`,
      );
      await database.pool.query(
        `INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since,
           last_checked_at, certificate_ends_at, removed_at, next_check_at)
         VALUES ('${id}', '${projectId}', '${hostname}', 't.edge.test', '${status}', now(), now(),
           ${past.checked ? 'now()' : 'NULL'}, ${past.ended ? 'now()' : 'NULL'}, ${past.removed ? 'now()' : 'NULL'}, now())`,
      );
    }

    beforeAll(async () => {
      fresh = await freshStorage(name, { empty: true });
      database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
      folder = await mkdtemp(join(tmpdir(), 'signpost-migrations-'));
      const all = (await readMigrations()).map((migration) => migration.name);
      for (const each of all.slice(0, all.indexOf(MIGRATION))) {
        const from = new URL(`prisma/migrations/${each}/`, projectRoot);
        await cp(from, join(folder, each), { recursive: true });
      }
      await migrate(database.pool, pathToFileURL(`${folder}/`));
      for (const one of names) {
        const [hostname, status, past] = rows[one];
        await insert(ids[one], hostname, status, past);
      }
      await migrate(database.pool);
    });
    afterAll(async () => {
      await database.close();
      await fresh.close();
      await rm(folder, { recursive: true });
    });

    it.each(names)('%s keeps its value, and what it has seen', async (one) => {
      const where = { id: ids[one] };
      const { claimNonce, arrival } = await database.prisma.domain.findUniqueOrThrow({ where });
      expect({ claimNonce, arrival }).toEqual({ claimNonce: null, arrival: rows[one][3] });
    });

    const check = async (id: string, addresses: 'here' | 'elsewhere') => {
      const store = createCheckStore(database);
      const domain = await store.load(id);
      if (domain === undefined) throw new Error('no such domain');
      const rules = { now: noon, windowMs: 48 * HOUR, escalateAfterMs: HOUR, jitter: 0.5 };
      const verdict = addresses === 'here' ? right.verdict : 'wrong';
      const outcome = decideCheck(domain, { ...right, verdict, addresses }, rules);
      return store.save({ domain, observation: anObservation(), outcome, at: noon });
    };

    it('gives an apex that was waited for to its addresses, as before', async () => {
      expect(await check(ids.waiting, 'here')).toMatchObject({ kind: 'saved' });
      expect(await check(ids.late, 'here')).toMatchObject({ kind: 'saved' });
    });

    it('places what a version of before adds beside this one by the first check', async () => {
      const [waits, leads] = [randomUUID(), randomUUID()];
      await insert(waits, 'beside.com', 'pending', { checked: true });
      await insert(leads, 'beside-here.com', 'pending', {});
      await check(waits, 'elsewhere');
      expect(await check(waits, 'here')).toMatchObject({ kind: 'saved' });
      expect(await check(leads, 'here')).toMatchObject({
        kind: 'proof_needed',
        reason: 'already_here',
      });
    });
  },
);
