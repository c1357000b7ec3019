/** A start that cannot succeed ends at once, and says in one place what has to be changed. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startProblem } from '../../src/roles/start-problem.ts';
import { startSignpost } from '../../src/start.ts';
import { startBeside } from '../support/beside.ts';
import { closeAfterEach } from '../support/closings.ts';
import { launchProcess } from '../support/process.ts';
import { isLongRun } from '../support/run.ts';
import { freePort } from '../support/servers.ts';
import { anyPorts, storageOf, takenPort } from './support.ts';

const closings = closeAfterEach();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signpost-start-'));
  closings.push(() => rm(folder, { recursive: true, force: true }));
});

/** Starts with a data directory that is not there yet, and waits until the process ends by itself. */
async function failToStart(env: Readonly<Record<string, string>>) {
  const started = launchProcess({ ...anyPorts, DATA_DIR: join(folder, 'data'), ...env });
  closings.push(started.kill);
  const code = await started.ended;
  return { code, stdout: started.stdout(), stderr: started.stderr() };
}

/**
 * The one line that such a start ends with: of a process in the long run, in the quick one of the same program in this one.
 * `src/main.ts` adds the exit code, which the last test of the ports has.
 */
async function refusal(env: Readonly<Record<string, string>>): Promise<string> {
  const whole = { ...anyPorts, DATA_DIR: join(folder, 'data'), ...env };
  if (isLongRun) {
    const { code, stdout, stderr } = await failToStart(whole);
    expect([code, stdout]).toEqual([1, '']);
    return stderr;
  }
  const result = loadConfig(whole);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const started = startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(async () => (await started.catch(() => null))?.close(1_000));
  const fault = await started.catch((refused: unknown) => refused);
  return `Signpost cannot start: ${startProblem(fault, result.config)}\n`;
}

describe('wrong variables', () => {
  const wrong = {
    PORT: 'http',
    EDGE_HTTPS_PORT: '65536',
    REDIS_URL: 'redis://127.0.0.1',
    DNS_SERVERS: 'resolver.example',
    KEY_ENCRYPTION_KEY: 'not-so-secret',
    VERIFY_WINDOW: '2 days',
    LOG_LEVEL: 'loud',
  };

  it('are named, all of them at once, with exit code 2, and nothing is created', async () => {
    const { code, stdout, stderr } = await failToStart(wrong);
    expect([code, stdout]).toEqual([2, '']);
    const [first, ...lines] = stderr.trimEnd().split('\n');
    expect(first).toBe('Signpost cannot start: some variables are wrong.');
    expect(lines.map((line) => line.trim().split(' ')[0]).sort()).toEqual(
      Object.keys(wrong).sort(),
    );
    expect(stderr).not.toContain(wrong.KEY_ENCRYPTION_KEY);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a port that cannot be had', () => {
  let storage: Readonly<Record<string, string>>;
  beforeEach(async () => {
    const fresh = await storageOf();
    closings.push(fresh.close);
    storage = fresh.env;
  });
  const refusalOf = (env: Readonly<Record<string, string>>) => refusal({ ...storage, ...env });

  const ports = ['PORT', 'EDGE_HTTP_PORT', 'EDGE_HTTPS_PORT'] as const;
  it.each(ports)('because another program has it: one line names %s', async (variable) => {
    const { port, close } = await takenPort();
    closings.push(close);
    expect(await refusalOf({ [variable]: port })).toBe(
      `Signpost cannot start: ${variable} ${port} on 127.0.0.1 is in use (EADDRINUSE)\n`,
    );
  });

  it('because two variables ask for it: one line names both', async () => {
    const port = String(await freePort());
    expect(await refusalOf({ PORT: port, EDGE_HTTP_PORT: port })).toBe(
      `Signpost cannot start: PORT and EDGE_HTTP_PORT are both ${port}: use different ports\n`,
    );
  });

  it('costs nobody the first key: the start that succeeds shows it', async () => {
    const { port, close } = await takenPort();
    closings.push(close);
    expect(await refusalOf({ PORT: port })).toContain('is in use');
    const started = await startBeside({ ...anyPorts, ...storage });
    closings.push(started.stop);
    expect(started.stdout()).toContain('Your first key');
  });

  it('shows where it was noticed at LOG_LEVEL=debug only', async () => {
    const { port, close } = await takenPort();
    closings.push(close);
    const env = { ...storage, PORT: port, LOG_LEVEL: 'debug' };
    const { code, stdout, stderr } = await failToStart(env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`Signpost cannot start: PORT ${port} on 127.0.0.1 is in use`);
    expect(stderr).toMatch(/EADDRINUSE.*\n +at /);
  });
});

describe('a folder that cannot be used', () => {
  const places: readonly [why: string, inFolder: readonly string[]][] = [
    ['is a file', ['file']],
    ['is below a file', ['file', 'data']],
  ];
  it.each(places)('because it %s: one line names DATA_DIR', async (_why, inFolder) => {
    await writeFile(join(folder, 'file'), 'kept');
    const DATA_DIR = join(folder, ...inFolder);
    const line = await refusal({ DATA_DIR });
    expect(line).toMatch(/^Signpost cannot start: .*\n$/);
    expect(line).toContain(`DATA_DIR ${DATA_DIR} cannot be used`);
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('because another process has it: one line names that one, which goes on and frees it', async () => {
    const DATA_DIR = join(folder, 'data');
    const port = await freePort();
    const first = await startBeside({ ...anyPorts, DATA_DIR, PORT: String(port) });
    closings.push(first.stop);
    const { code, stdout, stderr } = await failToStart({ DATA_DIR });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Signpost cannot start: .*\n$/);
    expect(stderr).toContain(`${DATA_DIR} is in use by process ${first.pid}`);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    expect(await first.stop()).toBe(0);
    expect(await readdir(DATA_DIR)).not.toContain('signpost.lock');
  });
});
