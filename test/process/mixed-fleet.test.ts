/** Processes of one installation whose configuration differs. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signpost } from '../cli/cli.ts';
import { closeAfterEach } from '../support/closings.ts';
import { forward } from '../support/forward.ts';
import { launchProcess, type SignpostProcess, startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { freePort, startRedis } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { anyPorts, readyLine } from './support.ts';

const without = lacks('postgres', 'a mixed fleet') || lacks('redis-server', 'the same');
const closings = closeAfterEach();

type Env = Readonly<Record<string, string>>;

/** `TIME_SCALE`: processes report every second. */
async function installation() {
  const { storage, redis, close } = await freshStorage('postgres_redis');
  closings.push(close);
  if (storage.kind !== 'postgres_redis' || redis === null) throw new Error(storage.kind);
  const env = {
    ...anyPorts,
    ROLE: 'worker',
    DATABASE_URL: storage.databaseUrl,
    REDIS_URL: storage.redisUrl,
    ACME_DIRECTORY_URL: 'https://acme.example/directory',
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    TIME_SCALE: '10',
  };
  return { env, redis };
}

async function run(env: Env) {
  const started = await startProcess(env);
  closings.push(started.kill);
  return started;
}

/** Why a process with these variables does not start. */
async function refusal(env: Env): Promise<string> {
  const started = launchProcess(env);
  closings.push(started.kill);
  expect(await started.ended).toBe(1);
  return JSON.parse(started.stderr().trimEnd().split('\n').at(-1) ?? '').problem;
}

function envWithout(env: Env, variable: string): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== variable));
}

describe.skipIf(without)('Beside a worker, another one does not start', () => {
  it('with another certificate authority', async () => {
    const { env } = await installation();
    await run(env);
    expect(await refusal({ ...env, ACME_DIRECTORY_URL: 'local' })).toMatch(
      /^ACME_DIRECTORY_URL is local, but https:\/\/acme\.example\/directory in this installation\. .* signpost fleet accept\.$/,
    );
  });

  it.each([
    ['PLATFORM_ADDRESSES', '192.0.2.7', 'not set'],
    ['ACME_ISSUER_DOMAINS', 'other.example', 'letsencrypt.org'],
    ['ESCALATE_AFTER', '45m', '30m'],
    ['VERIFY_WINDOW', '24h', '48h'],
    ['TIME_SCALE', '11', '10'],
  ])('with another %s', async (name, value, current) => {
    const { env } = await installation();
    await run(env);
    expect(await refusal({ ...env, [name]: value })).toContain(
      `${name} is ${value}, but ${current} in this installation`,
    );
  });

  it('without REDIS_URL', async () => {
    const { env } = await installation();
    await run(env);
    const { host } = new URL(env.REDIS_URL);
    expect(await refusal(envWithout(env, 'REDIS_URL'))).toContain(
      `REDIS_URL is not set, but ${host}/0 in this installation`,
    );
  });

  it('with another Redis', async () => {
    const { env } = await installation();
    await run(env);
    const other = await startRedis();
    closings.push(other.close);
    expect(await refusal({ ...env, REDIS_URL: other.url })).toContain(
      `REDIS_URL ${new URL(other.url).host}/0 is another Redis than the installation uses`,
    );
  });
});

describe.skipIf(without)('A process starts', () => {
  it('not on the Redis of another installation', async () => {
    const [one, other] = [await installation(), await installation()];
    const worker = await run(one.env);
    expect(await worker.stop()).toBe(0);
    expect(await refusal({ ...other.env, REDIS_URL: one.env.REDIS_URL })).toContain(
      'holds the queue of another installation',
    );
  });

  it('with another configuration once the others stopped or were killed', async () => {
    const { env } = await installation();
    const [first, second] = [await run(env), await run({ ...env, ROLE: 'api' })];
    expect(await first.stop()).toBe(0);
    await second.kill();
    await run({ ...env, ACME_DIRECTORY_URL: 'local' });
  });

  it('not on a Redis that the installation used earlier', async () => {
    const { env } = await installation();
    expect(await (await run(env)).stop()).toBe(0);
    const next = await startRedis();
    closings.push(next.close);
    await run({ ...env, REDIS_URL: next.url });
    expect(await refusal(env)).toContain(' is another Redis than ');
  });

  it('while the queue was emptied', async () => {
    const { env, redis } = await installation();
    await run(env);
    await redis.flush();
    await run(env);
  });

  it('as an edge without REDIS_URL', async () => {
    const { env } = await installation();
    await run(env);
    await run({ ...envWithout(env, 'REDIS_URL'), ROLE: 'edge' });
  });
});

describe.skipIf(without)('A running process is named by signpost fleet', () => {
  const API_KEY = randomBytes(16).toString('hex');
  const lister = (api: Pick<SignpostProcess, 'stdout'>) => () =>
    signpost(['fleet'], { SIGNPOST_API_KEY: API_KEY, SIGNPOST_URL: readyLine(api)['api'] ?? '' });

  it('if its Redis, back after its start, is another one', async () => {
    const { env } = await installation();
    await run(env);
    const other = await startRedis();
    closings.push(other.close);
    await other.kill();
    const api = await run({ ...env, ROLE: 'api', API_KEY, REDIS_URL: other.url });
    await other.restart();
    await api.printed('the configuration differs from other processes');
    const { code, stdout } = await lister(api)();
    expect(code).toBe(1);
    expect(stdout).toContain(`REDIS_URL ${new URL(other.url).host}/0 is another Redis than `);
  });

  it('if Redis answers others only', async () => {
    const { env } = await installation();
    const port = await freePort();
    const cutOff = await forward(port, Number(new URL(env.REDIS_URL).port));
    closings.push(cutOff);
    await run({ ...env, REDIS_URL: `redis://127.0.0.1:${port}` });
    const list = lister(await run({ ...env, ROLE: 'api', API_KEY }));
    expect((await list()).code).toBe(0);
    await cutOff();
    const { stdout } = await until('the worker is named', async () => {
      const listed = await list();
      return listed.code === 1 && listed;
    });
    expect(stdout).toContain(`REDIS_URL 127.0.0.1:${port}/0 does not answer.`);
    await forward(port, Number(new URL(env.REDIS_URL).port)).then((close) => closings.push(close));
    await until('it is not named any more', async () => (await list()).code === 0);
  });
});

describe.skipIf(without)('A rolling change of the certificate authority', () => {
  it('passes once it is accepted, and the previous value is refused then', async () => {
    const { env } = await installation();
    const API_KEY = randomBytes(16).toString('hex');
    const api = await run({ ...env, ROLE: 'api', API_KEY });
    const worker = await run(env);
    const cli = { SIGNPOST_API_KEY: API_KEY, SIGNPOST_URL: readyLine(api)['api'] ?? '' };
    const fleet = (...args: readonly string[]) => signpost(['fleet', ...args], cli);
    expect(await fleet()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^worker .* running /m),
    });
    expect(await fleet('accept')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no process was refused'),
    });

    const changed = { ...env, ACME_DIRECTORY_URL: 'https://other.example/directory' };
    expect(await refusal(changed)).toContain('ACME_DIRECTORY_URL is https://other.example');
    const listed = await fleet('list');
    expect(listed).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^worker .* refused /m),
    });
    expect(listed.stdout).toContain('ACME_DIRECTORY_URL is https://other.example/directory, but ');

    expect(await fleet('accept')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Accepted the settings of worker on .* Start it again/),
    });
    const next = await run(changed);
    expect((await fleet('list')).stdout).toContain('ACME_DIRECTORY_URL is https://acme.example');
    expect(await worker.stop()).toBe(0);
    expect(await refusal(env)).toContain('ACME_DIRECTORY_URL is https://acme.example/directory');
    expect(await next.stop()).toBe(0);
  });
});
