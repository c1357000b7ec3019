/** Stops the real PostgreSQL and Redis. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { roleNames } from '../../src/core/operations/roles.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { lacks } from '../support/programs.ts';
import {
  freePort,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from '../support/servers.ts';
import { until } from '../support/world.ts';

const without =
  lacks('postgres', 'probes without PostgreSQL') || lacks('redis-server', 'probes without Redis');
const log = pino({ level: 'silent' });

let postgres: PostgresServer;
let redis: RedisServer;
const running = new Map<string, Signpost>();

function start(role: string, env: Readonly<Record<string, string>> = {}): Promise<Signpost> {
  const loaded = loadConfig({
    ROLE: role,
    ...{ PORT: '0', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0', METRICS_PORT: '0' },
    DATABASE_URL: postgres.url,
    ACME_DIRECTORY_URL: 'local',
    REDIS_URL: redis.url,
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...env,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return startSignpost(loaded.config, log);
}

async function ask(base: string, path: string) {
  const response = await fetch(base + path);
  return { status: response.status, text: await response.text() };
}

const opsOf = (role: string) => `http://127.0.0.1:${running.get(role)?.addresses.metricsPort}`;

async function readiness(role: string): Promise<string> {
  const { status, text } = await ask(opsOf(role), '/readyz');
  const { status: said, missing, message } = JSON.parse(text);
  return `${status} ${status === 200 ? [said, ...missing].join(' ') : message}`;
}

/** The expected response of each probe, which notices an outage within two seconds. */
const say = (api: string, worker: string, edge: string) =>
  until(`${api}, ${worker}, ${edge}`, async () => {
    const said = await Promise.all(roleNames.map(readiness));
    return said.join('|') === [api, worker, edge].join('|');
  });

const noDatabase =
  '503 Not ready, missing: database (does not answer), migrations (could not be checked).';
const noQueue = '503 Not ready, missing: queue (does not answer).';

beforeAll(async () => {
  if (without) return;
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  // One at a time: they would wait for each other's migrations.
  for (const role of roleNames) running.set(role, await start(role));
}, 180_000);
afterAll(async () => {
  await Promise.all([...running.values()].map((signpost) => signpost.close(5_000)));
  await postgres?.close();
  await redis?.close();
}, 180_000);

describe.skipIf(without)('The probes of an API, a worker and an edge', () => {
  it(
    'report ready while everything is available',
    () => say('200 ready', '200 ready', '200 ready'),
    180_000,
  );

  it('report a Redis outage: degraded for the API, not ready for the worker, ready for the edge', async () => {
    await redis.kill();
    await say('200 degraded queue', noQueue, '200 ready');
    await redis.restart();
    await say('200 ready', '200 ready', '200 ready');
  }, 180_000);

  it('report not ready but alive for all without PostgreSQL', async () => {
    await postgres.stop();
    await say(noDatabase, noDatabase, noDatabase);
    for (const role of running.keys()) {
      expect(await ask(opsOf(role), '/healthz')).toEqual({
        status: 200,
        text: '{"status":"alive"}',
      });
      const { status, text } = await ask(opsOf(role), '/metrics');
      expect(status).toBe(200);
      if (role === 'api') expect(text).toContain('signpost_state_readable{source="database"} 0');
      if (role === 'api') expect(text).not.toContain('signpost_domains{');
    }
    const { http } = running.get('api')?.addresses ?? {};
    expect((await ask(`${http}`, '/readyz')).status).toBe(503);
    await postgres.restart();
    await say('200 ready', '200 ready', '200 ready');
  }, 180_000);

  it('report a database that is older than the process, as after a restore', async () => {
    const { pool } = running.get('api')?.service.database ?? {};
    await pool?.query(`UPDATE "_prisma_migrations" SET rolled_back_at = now()
      WHERE migration_name = (SELECT max(migration_name) FROM "_prisma_migrations")`);
    const old = '503 Not ready, missing: migrations (the database schema is outdated).';
    await say(old, old, old);
    await pool?.query('UPDATE "_prisma_migrations" SET rolled_back_at = NULL');
    await say('200 ready', '200 ready', '200 ready');
  }, 180_000);
});

describe.skipIf(without)('METRICS_PORT', () => {
  it('requires the token for metrics if one is set', async () => {
    const METRICS_TOKEN = 'a-token-for-metrics-alone';
    const worker = await start('worker', { METRICS_TOKEN });
    running.set('worker with a token', worker);
    const url = `http://127.0.0.1:${worker.addresses.metricsPort}/metrics`;
    const status = async (headers: Record<string, string>) =>
      (await fetch(url, { headers })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer another-token-for-metrics' })).toBe(401);
    expect(await status({ authorization: `Bearer ${METRICS_TOKEN}` })).toBe(200);
  });

  it('serves nothing else and rejects writes', async () => {
    expect((await ask(opsOf('worker'), '/v1/projects')).status).toBe(404);
    expect((await fetch(`${opsOf('worker')}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it('shows worker metrics for a worker and edge metrics for an edge', async () => {
    const names = async (role: string) =>
      [...(await ask(opsOf(role), '/metrics')).text.matchAll(/^# TYPE (\w+)/gm)].map(([, n]) => n);
    expect(await names('worker')).toContain('signpost_jobs_total');
    expect(await names('worker')).not.toContain('signpost_edge_requests_total');
    expect(await names('worker')).not.toContain('signpost_domains');
    expect(await names('edge')).toContain('signpost_edge_handshakes_total');
    expect(await names('edge')).not.toContain('signpost_jobs_total');
    expect(await names('api')).toContain('signpost_domains');
  });

  it('is named in the error when it is taken', async () => {
    const port = String(running.get('edge')?.addresses.metricsPort);
    await expect(start('edge', { METRICS_PORT: port })).rejects.toThrow(
      /^METRICS_PORT \d+ .* in use/,
    );
  });
});

describe.skipIf(without)('A worker that starts before its database', () => {
  it('is alive and not ready', async () => {
    await postgres.stop();
    const port = await freePort();
    const starting = start('worker', { METRICS_PORT: String(port) });
    const base = `http://127.0.0.1:${port}`;
    await until(
      'the port is open',
      async () => (await ask(base, '/healthz').catch(() => null))?.status === 200,
    );
    expect((await ask(base, '/readyz')).status).toBe(503);
    await postgres.restart();
    running.set('late worker', await starting);
    await until('ready', async () => (await ask(base, '/readyz')).status === 200);
  }, 180_000);
});
