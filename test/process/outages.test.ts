import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { roleNames } from '../../src/core/operations/roles.ts';
import { closeAfterEach } from '../support/closings.ts';
import { launchProcess, type SignpostProcess, startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { startPostgres, startRedis } from '../support/servers.ts';
import { until } from '../support/world.ts';
import { anyPorts } from './support.ts';

const without = lacks('postgres', 'outages of a worker') || lacks('redis-server', 'the same');
const closings = closeAfterEach();

async function storage() {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  closings.push(postgres.close, redis.close);
  const env = {
    ...anyPorts,
    ROLE: 'worker',
    METRICS_PORT: '0',
    DATABASE_URL: postgres.url,
    ACME_DIRECTORY_URL: 'local',
    REDIS_URL: redis.url,
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  return { redis, env };
}

/** `url`: of the API or the edge; a server that closes the connection counts as an answer. */
const statusOf = (url: string, headers: Readonly<Record<string, string>>) =>
  fetch(url, { headers }).then(
    ({ status }) => status,
    () => 0,
  );

const warningsIn = (stderr: string) =>
  stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level >= 40);

describe.skipIf(without)('A worker', () => {
  it('logs one line with the variable when Redis dies, and recovers', async () => {
    const { redis, env } = await storage();
    const worker = await startProcess({ ...env, LOG_LEVEL: 'debug' });
    closings.push(worker.kill);
    await redis.kill();
    await worker.printed('a dependency does not answer');
    // Each of its queues reconnects several times a second meanwhile.
    const errors = () => worker.stderr().split('"worker error"').length;
    await until('several errors of the queues', async () => errors() > 20);
    expect(warningsIn(worker.stderr())).toMatchObject([
      { msg: 'ACME_DIRECTORY_URL is local: browsers do not trust the certificates' },
      { dependency: 'queue', variable: 'REDIS_URL', host: new URL(redis.url).host },
    ]);
    await redis.restart();
    await worker.printed('a dependency answers again');
    expect(await worker.stop()).toBe(0);
  });

  it('is ready only when Redis answers', async () => {
    const { redis, env } = await storage();
    await redis.kill();
    const worker = launchProcess(env);
    closings.push(worker.kill);
    await worker.printed('a dependency does not answer');
    expect(worker.stdout()).toBe('');
    await redis.restart();
    await worker.printed('Signpost is ready');
    const { metricsPort } = JSON.parse(worker.stdout());
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
    expect(answer.status).toBe(200);
    const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(await metrics()).toContain('signpost_ready{dependency="queue"} 1');
    await redis.kill();
    await until('it is not ready', async () => {
      const text = await metrics();
      return ['queue', 'process'].every((name) =>
        text.includes(`signpost_ready{dependency="${name}"} 0`),
      );
    });
  });
});

/** What the three processes print when they are ready. */
type Ready = [{ api: string }, unknown, { edge: { httpPort: number } }];

describe.skipIf(lacks('postgres', 'an outage under traffic'))('Every role, with traffic', () => {
  it('logs one line with the variable when PostgreSQL stops, and recovers', async () => {
    const postgres = await startPostgres();
    closings.push(postgres.close);
    const apiKey = `signpost_${randomBytes(16).toString('hex')}`;
    const env = {
      ...anyPorts,
      METRICS_PORT: '0',
      DATABASE_URL: postgres.url,
      ACME_DIRECTORY_URL: 'local',
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      LOG_LEVEL: 'debug',
    };
    const processes: SignpostProcess[] = [];
    for (const ROLE of roleNames) {
      const started = await startProcess({ ...env, ROLE });
      closings.push(started.kill);
      processes.push(started);
    }
    const [{ api }, , { edge }] = processes.map(({ stdout }) => JSON.parse(stdout())) as Ready;
    const authorization = `Bearer ${apiKey}`;
    const callApi = () => statusOf(`${api}/projects`, { authorization });
    const visit = () => statusOf(`http://127.0.0.1:${edge.httpPort}`, { host: 'a.example' });
    expect(await callApi()).toBe(200);
    await visit();
    await postgres.stop();
    const isLogged = () =>
      processes.every(({ stderr }) => stderr().includes('a dependency does not answer'));
    let failed = 0;
    while (!isLogged() || failed < 20) {
      if ((await callApi()) === 503) failed += 1;
      await visit();
    }
    await postgres.restart();
    await until('the API answers again', async () => (await callApi()) === 200);
    for (const started of processes) {
      await started.printed('a dependency answers again');
      expect(await started.stop()).toBe(0);
      expect(warningsIn(started.stderr()).slice(1)).toMatchObject([
        { dependency: 'database', variable: 'DATABASE_URL', host: new URL(postgres.url).host },
      ]);
    }
  });
});
