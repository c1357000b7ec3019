/** A database of before there were accounts: nobody notices the upgrade, and a version of before finds no key of an account. */
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, mintKey } from '../../src/config/api-key.ts';
import { loadConfig } from '../../src/config/config.ts';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/accounts/access.ts';
import { openDatabase } from '../../src/db/engine/client.ts';
import { migrate, projectRoot, readMigrations } from '../../src/db/engine/migrate.ts';
import { scopes } from '../../src/http/pipeline/route.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { callApi } from '../http/support.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';
import { startWorld, type World } from '../support/world.ts';

const MIGRATION = '20261201000001_accounts';
/** An account that follows the configuration may have no more than was there before. */
const noMore = { ACCOUNT_DOMAINS: '1', ACCOUNT_PROJECTS: '1', ACCOUNT_ADDITIONS_PER_HOUR: '1' };

describe.each(databases.filter(({ available }) => available))(
  'a $name database of before accounts',
  ({ name }) => {
    let fresh: FreshStorage;
    let world: World;
    let signpost: Signpost;
    const project = randomUUID();
    const admin = mintKey();
    const reader = mintKey();

    beforeAll(async () => {
      fresh = await freshStorage(name, { empty: true });
      await fillAsBefore();
      const role: Record<string, string> = name === 'embedded' ? {} : { ROLE: 'api' };
      world = await startWorld({
        storage: fresh.storage,
        ca: 'local authority',
        env: { ...role, ...noMore },
      });
      const loaded = loadConfig(world.env);
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
      signpost = await startSignpost(loaded.config, pino({ level: 'silent' }));
    });
    afterAll(async () => {
      await signpost?.close(10_000);
      await world?.close();
      await fresh?.close();
    });

    /** A project with a deploy, and two keys, as that version stored them. */
    async function fillAsBefore() {
      const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
      const folder = await mkdtemp(join(tmpdir(), 'signpost-migrations-'));
      const all = (await readMigrations()).map((migration) => migration.name);
      for (const each of all.slice(0, all.indexOf(MIGRATION))) {
        const from = new URL(`prisma/migrations/${each}/`, projectRoot);
        await cp(from, join(folder, each), { recursive: true });
      }
      const { pool } = database;
      await migrate(pool, pathToFileURL(`${folder}/`));
      await rm(folder, { recursive: true });
      await pool.query(`INSERT INTO project (id, name, slug, plan, deployed_at)
        VALUES ('${project}', 'Shop', 'shop', 'pro', now())`);
      await pool.query(`INSERT INTO deploy (id, project_id, status, upstream)
        VALUES ('${randomUUID()}', '${project}', 'succeeded', 'https://deploy.example/')`);
      const insert = 'INSERT INTO api_key (id, name, digest, scopes) VALUES ($1, $2, $3, $4)';
      const digest = (token: string) => Buffer.from(digestOf(token));
      await pool.query(insert, [admin.id, 'Admin', digest(admin.token), ['admin']]);
      const held = ['domains:read', 'pets:read'];
      await pool.query(insert, [reader.id, 'Reader', digest(reader.token), held]);
      await database.close();
    }

    const call = (line: string, json?: object, key = admin.token) => {
      if (signpost.api === null) throw new Error('the API is played');
      return callApi(signpost.api, line, { key, ...(json && { json }) });
    };
    const madeWith = async (line: string, json: object) => {
      const { status, body } = await call(line, json);
      expect(status).toBe(201);
      return body as { id: string; key: string; accountId: string | null };
    };

    it('has its projects and keys do what they did, without any limit', async () => {
      const listed = await call('GET /v1/projects', undefined, reader.token);
      expect(listed.body).toMatchObject([{ id: project, accountId: DEFAULT_ACCOUNT_ID }]);
      for (const hostname of ['one.example.com', 'two.example.com']) {
        await madeWith(`POST /v1/projects/${project}/domains`, { hostname });
      }
      const another = await madeWith('POST /v1/projects', { name: 'Blog', slug: 'blog' });
      expect(another.accountId).toBe(DEFAULT_ACCOUNT_ID);
      expect((await call('GET /v1/pets', undefined, reader.token)).status).toBe(200);
      const keys = (await call('GET /v1/keys')).body as { id: string; accountId: unknown }[];
      const own = keys.filter(({ id }) => [admin.id, reader.id].includes(id));
      expect(own.map(({ accountId }) => accountId)).toEqual([null, null]);
      const added = await madeWith('POST /v1/keys', { name: 'More', scopes: ['admin'] });
      expect(added.accountId).toBeNull();
    });

    it('takes what a version of before still adds while it is replaced', async () => {
      const { pool } = signpost.parts.database;
      const id = randomUUID();
      await pool.query(`INSERT INTO project (id, name, slug) VALUES ('${id}', 'Late', 'late')`);
      const { body } = await call(`GET /v1/projects/${id}`);
      expect(body).toMatchObject({ accountId: DEFAULT_ACCOUNT_ID });
    });

    it('shows that version keys of accounts that may do nothing', async () => {
      const account = await madeWith('POST /v1/accounts', { name: 'Customer' });
      const made = await madeWith('POST /v1/keys', {
        name: 'Customer’s',
        scopes: ['admin', 'domains:read', 'domains:write'],
        accountId: account.id,
      });
      await call(`POST /v1/keys/${made.id}/rotate`);
      const { rows } = await signpost.parts.database.pool.query<{ scopes: string[] }>(
        `SELECT scopes FROM api_key WHERE account_id = '${account.id}'`,
      );
      expect(rows).toHaveLength(2);
      const known = rows.flatMap((row) => scopes.filter((scope) => row.scopes.includes(scope)));
      expect(known).toEqual([]);
    });
  },
);
