/** PostgreSQL from yesterday with today's Redis: known domains continue, others are removed. */
import pg from 'pg';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const closings = closeAfterEach();

async function start({ env }: World): Promise<Signpost> {
  const result = loadConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(20_000));
  return signpost;
}

/** Copies a database under another name; it must have no connections. */
async function copyDatabase(url: string, from: string, to: string): Promise<void> {
  const server = new URL(url);
  server.pathname = 'postgres';
  const client = new pg.Client(server.href);
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${to} TEMPLATE ${from}`);
  } finally {
    await client.end();
  }
}

async function aWorld() {
  const { storage, close } = await freshStorage('postgres_redis');
  closings.push(close);
  const world = await startWorld({ storage, ca: 'local authority' });
  closings.push(() => world.close());
  const url = world.env['DATABASE_URL'] ?? '';
  const name = new URL(url).pathname.slice(1);
  const backup = `${name}_backup`;
  return {
    world,
    backUp: () => copyDatabase(url, name, backup),
    restore: () => copyDatabase(url, backup, name),
  };
}

const onRedis = storages.find(({ name }) => name === 'postgres_redis');

describe.skipIf(!onRedis?.available)('a database restored from yesterday', () => {
  it('makes its domains live again, and clears the queue of unknown ones', async () => {
    const { world, backUp, restore } = await aWorld();
    const client = createClient(world);
    let signpost = await start(world);
    const { record } = await client.addDomain();
    await until('the first finding', async () => (await client.domain()).findings.length > 0);
    await signpost.close(20_000);
    await backUp();

    signpost = await start(world);
    const later = { hostname: `later.${world.zone}` };
    const domains = client.domainPath.replace(/\/[^/]+$/, '');
    expect((await client.call('POST', domains, later)).status).toBe(201);
    await world.publish([`docs CNAME ${record.value}.`]);
    const live = async () => (await client.domain()).status === 'live';
    await until('live, the first time', live);
    await signpost.close(20_000);
    await restore();

    signpost = await start(world);
    await until('live, the second time', live);
    expect(await client.story()).toEqual([
      'domain.added',
      '+record_missing',
      '-record_missing',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
    expect((await client.call('GET', `${domains}/${later.hostname}`)).status).toBe(404);
    const { queues } = signpost.service;
    await until('no job of the unknown domain', async () => {
      const { delayed, waiting, active } = await queues.counts('check-dns');
      return delayed + waiting + active === 0;
    });
  }, 300_000);
});
