/** A filled database of version 0.2.0 and today's code: later migrations only add. */
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/engine/client.ts';
import { migrate } from '../../src/db/engine/migrate.ts';
import { API_KEY, startOn } from '../accounts/two-accounts.ts';
import { diffToSchema } from '../support/schema-diff.ts';
import { databases, type FreshStorage, freshStorage } from '../support/storage.ts';

const dump = new URL('0.2.0.sql', import.meta.url);
const schema = new URL('../../prisma/schema.prisma', import.meta.url);
const encryptionKey = Buffer.alloc(32, 7).toString('base64');

/** Of the first account in the dump. */
const customer = {
  key: 'signpost_Yei1eKtsxemL_3CoP1LqTyjWv7MuMqKyRoEeMh371TN7a0D0NV2',
  accountId: '96248489-b9d1-4587-8760-008777400f49',
  projectId: '226b05c3-09c6-4f85-ae4c-a9fc117719d6',
  webhookId: 'b27f8dd0-3b3f-4e43-abe1-a6e01b15cb88',
} as const;

describe.each(databases.filter((one) => one.available))('A $name database of 0.2.0', ({ name }) => {
  let fresh: FreshStorage;
  let started: Awaited<ReturnType<typeof startOn>>;
  let differences: string | null;

  beforeAll(async () => {
    fresh = await freshStorage(name, { empty: true });
    const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
    await database.pool.query(await readFile(dump, 'utf8'));
    await migrate(database.pool); // rejects if a migration that the dump has was edited
    differences = await diffToSchema(database.pool, await readFile(schema, 'utf8'));
    await database.close();
    started = await startOn(fresh, encryptionKey);
  });
  afterAll(async () => {
    await started?.close();
    await fresh?.close();
  });

  const ask = (line: string, key: string = customer.key) => started.call(line, { key });

  it('has the schema of a new one after its upgrade', () => {
    expect(differences).toBeNull();
  });

  it('keeps keys with their account, scopes and projects', async () => {
    const { projectId, accountId } = customer;
    expect(await ask('GET /v1/projects')).toMatchObject({
      status: 200,
      body: expect.arrayContaining([expect.objectContaining({ id: projectId, accountId })]),
    });
    expect((await ask('GET /v1/operations/overview')).status).toBe(403);
    expect((await ask('GET /v1/accounts', API_KEY)).body).toHaveLength(3);
  });

  it('keeps domains with their certificate, events and settings', async () => {
    const path = `/v1/projects/${customer.projectId}/domains/docs.primero.example`;
    expect((await ask(`GET ${path}`)).body).toMatchObject({
      status: 'live',
      certificate: { issuer: 'Example CA', status: 'issued' },
      hsts: { maxAge: 300n },
    });
    const timeline = await ask(`GET ${path}/timeline`);
    const types = (timeline.body as readonly { readonly type: string }[]).map(({ type }) => type);
    expect(types.sort()).toEqual(['domain.added', 'domain.live']);
  });

  it('adds to what is there', async () => {
    const path = `/v1/projects/${customer.projectId}/domains`;
    const json = { hostname: 'new.primero.example' };
    expect((await started.call(`POST ${path}`, { key: customer.key, json })).status).toBe(201);
  });

  it('decrypts the secrets of webhooks and of projects', async () => {
    const { projectId, webhookId } = customer;
    const tested = await started.call(
      `POST /v1/projects/${projectId}/webhooks/${webhookId}/rotate-secret`,
      { key: customer.key },
    );
    expect(tested.status).toBe(200);
    expect((await ask(`GET /v1/projects/${projectId}/signing-secret`)).status).toBe(200);
  });

  it('has the pets', async () => {
    expect((await ask('GET /v1/pets', API_KEY)).body).toMatchObject([{ name: 'Rex' }]);
  });
});
