import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startProblem } from '../../src/process/welcome.ts';
import { startSignpost } from '../../src/start.ts';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { launchProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { isLongRun } from '../support/run.ts';
import { freePort, startPostgres } from '../support/servers.ts';
import { anyPorts, storageOf, takenPort } from './support.ts';

const lacksServers =
  lacks('postgres', 'storage that refuses') || lacks('redis-server', 'storage that refuses');
const closings = closeAfterEach();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signpost-start-'));
  closings.push(() => rm(folder, { recursive: true, force: true }));
});

/** Starts with a missing data directory and waits until the process exits. */
async function failToStart(env: Readonly<Record<string, string>>) {
  const started = launchProcess({ ...anyPorts, DATA_DIR: join(folder, 'data'), ...env });
  closings.push(started.kill);
  const code = await started.ended;
  return { code, stdout: started.stdout(), stderr: started.stderr() };
}

/**
 * The one line at the end of such a start: from a process in the long run, in-process in the quick run. The last test
 * of the ports covers the exit code of `src/main.ts`.
 */
async function refusal(env: Readonly<Record<string, string>>): Promise<string> {
  const whole = { ...anyPorts, DATA_DIR: join(folder, 'data'), ...env };
  if (isLongRun) {
    const { code, stdout, stderr } = await failToStart(whole);
    expect([code, stdout]).toEqual([1, '']);
    return problemIn(stderr);
  }
  const result = loadConfig(whole);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const started = startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(async () => (await started.catch(() => null))?.close(1_000));
  const fault = await started.catch((refused: unknown) => refused);
  return startProblem(fault, result.config);
}

/** The last line of a process without a terminal says why. */
function problemIn(stderr: string): string {
  const { msg, problem } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
  expect(msg).toBe('Signpost cannot start');
  return problem;
}

describe('Invalid variables', () => {
  const wrong = {
    PORT: 'http',
    EDGE_HTTPS_PORT: '65536',
    REDIS_URL: 'redis://127.0.0.1',
    DNS_SERVERS: 'resolver.example',
    KEY_ENCRYPTION_KEY: 'not-so-secret',
    VERIFY_WINDOW: '2 days',
    LOG_LEVEL: 'loud',
  };

  it('are all named at once, with exit code 2, and nothing is created', async () => {
    const { code, stdout, stderr } = await failToStart(wrong);
    expect([code, stdout]).toEqual([2, '']);
    const { msg, problems } = JSON.parse(stderr);
    expect(msg).toBe('Signpost cannot start');
    const named = problems.map(({ variable }: { readonly variable: string }) => variable);
    expect(named.sort()).toEqual(Object.keys(wrong).sort());
    expect(stderr).not.toContain(wrong.KEY_ENCRYPTION_KEY);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('An unavailable port', () => {
  let storage: Readonly<Record<string, string>>;
  beforeEach(async () => {
    const fresh = await storageOf();
    closings.push(fresh.close);
    storage = fresh.env;
  });
  const refusalOf = (env: Readonly<Record<string, string>>) => refusal({ ...storage, ...env });

  const ports = ['PORT', 'EDGE_HTTP_PORT', 'EDGE_HTTPS_PORT'] as const;
  it.each(ports)('of another program causes one line that names %s', async (variable) => {
    const { port, close } = await takenPort();
    closings.push(close);
    expect(await refusalOf({ [variable]: port })).toBe(
      `${variable} ${port} on 127.0.0.1 is in use (EADDRINUSE)`,
    );
  });

  it('in two variables causes one line that names both', async () => {
    const port = String(await freePort());
    expect(await refusalOf({ PORT: port, EDGE_HTTP_PORT: port })).toBe(
      `PORT and EDGE_HTTP_PORT are both ${port}: use different ports`,
    );
  });

  it('does not consume the first key: the next successful start shows it', async () => {
    const { port, close } = await takenPort();
    closings.push(close);
    expect(await refusalOf({ PORT: port })).toContain('is in use');
    const started = await startBeside({ ...anyPorts, ...storage });
    closings.push(started.stop);
    expect(started.stdout()).toMatch(/Your first key|"firstKey"/);
  });

  it('logs its stack at LOG_LEVEL=debug only', async () => {
    const { port, close } = await takenPort();
    closings.push(close);
    const env = { ...storage, PORT: port, LOG_LEVEL: 'debug' };
    const { code, stdout, stderr } = await failToStart(env);
    expect([code, stdout]).toEqual([1, '']);
    expect(problemIn(stderr)).toContain(`PORT ${port} on 127.0.0.1 is in use`);
    expect(stderr).toMatch(/EADDRINUSE.*\\n +at /);
  });
});

describe('An unusable data folder', () => {
  const places: readonly [why: string, inFolder: readonly string[]][] = [
    ['is a file', ['file']],
    ['is below a file', ['file', 'data']],
  ];
  it.each(places)('that %s causes one line that names DATA_DIR', async (_why, inFolder) => {
    await writeFile(join(folder, 'file'), 'kept');
    const DATA_DIR = join(folder, ...inFolder);
    const line = await refusal({ DATA_DIR });
    expect(line).not.toContain('\n');
    expect(line).toContain(`DATA_DIR ${DATA_DIR} cannot be used`);
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('in use causes one line that names the other process, which continues and frees it', async () => {
    const DATA_DIR = join(folder, 'data');
    const port = await freePort();
    const first = await startBeside({ ...anyPorts, DATA_DIR, PORT: String(port) });
    closings.push(first.stop);
    const { code, stdout, stderr } = await failToStart({ DATA_DIR });
    expect([code, stdout]).toEqual([1, '']);
    expect(problemIn(stderr)).toContain(`${DATA_DIR} is in use by process ${first.pid}`);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    expect(await first.stop()).toBe(0);
    expect(await readdir(DATA_DIR)).not.toContain('signpost.lock');
  });
});

describe.skipIf(lacksServers)('Storage that refuses the connection', () => {
  it.each([
    ['a database that does not exist', 'DATABASE_URL', { pathname: '/none' }],
    ['a role that does not exist', 'DATABASE_URL', { username: 'stranger' }],
    ['an index out of range', 'REDIS_URL', { pathname: '/99' }],
    ['a user that Redis does not know', 'REDIS_URL', { username: 'stranger', password: 'x' }],
  ] as const)('because of %s names %s, the host and the reason', async (_why, variable, part) => {
    const fresh = await storageOf('postgres_redis');
    closings.push(fresh.close);
    const url = Object.assign(new URL(fresh.env[variable] ?? ''), part);
    const problem = await refusal({ ...fresh.env, [variable]: url.href });
    expect(problem).toContain(`${variable} ${url.host}${url.pathname} cannot be used: `);
    expect(problem.split(': ')[1]).toMatch(/does not exist|out of range|WRONGPASS/);
  });

  it.each([
    ['a wrong password', 'wrong', 'password authentication failed for user "locked"'],
    ['a missing right', 'right', 'permission denied for database "postgres"'],
  ])(
    'because of %s names DATABASE_URL, the host and the reason',
    async (_why, password, reason) => {
      const postgres = await startPostgres();
      closings.push(postgres.close);
      await lock(postgres.url);
      const url = Object.assign(new URL(postgres.url), { username: 'locked', password });
      const env = {
        DATABASE_URL: url.href,
        ACME_DIRECTORY_URL: 'local',
        KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      };
      expect(await refusal(env)).toBe(
        `DATABASE_URL ${url.host}${url.pathname} cannot be used: ${reason}`,
      );
    },
  );
});

/** A role `locked` with the password `right`, which cannot connect to any database. */
async function lock(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query('SHOW hba_file');
  const rules = ['host all locked all scram-sha-256', 'host all all all trust'];
  await client.query("CREATE ROLE locked LOGIN PASSWORD 'right'");
  await client.query('REVOKE CONNECT ON DATABASE postgres FROM PUBLIC');
  await client.query(
    `COPY (SELECT unnest(ARRAY['${rules.join("', '")}'])) TO '${rows[0].hba_file}'`,
  );
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}
