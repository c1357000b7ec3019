import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { until } from '../support/world.ts';

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const project = fileURLToPath(new URL('fixtures/interrupted/', import.meta.url));
const closings = closeAfterEach();
let file: string;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-interrupted-'));
  file = join(folder, 'pids');
  await writeFile(file, '');
  closings.push(() => rm(folder, { recursive: true }));
});

/** In a new process group, as a shell starts it. */
function startRun(env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [vitest, 'run'], {
    cwd: project,
    env: { PATH: process.env['PATH'], PIDS: file, ...env },
    stdio: 'ignore',
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('it did not start');
  closings.push(() => child.kill('SIGKILL'));
  return { pid, ended: once(child, 'exit') };
}

const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean);
const pids = () => lines().map((line) => Number(line.split(' ')[1]));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const noneIsLeft = () => until('no process is left', async () => !pids().some(isAlive));

describe('A test run', () => {
  const rows: readonly (readonly [how: string, (pid: number) => void])[] = [
    ['after Ctrl-C in the terminal', (pid) => process.kill(-pid, 'SIGINT')],
    ['after SIGINT to the runner alone', (pid) => process.kill(pid, 'SIGINT')],
    ['after SIGTERM to the runner alone', (pid) => process.kill(pid, 'SIGTERM')],
  ];
  it.each(rows)('%s leaves no process behind', async (_how, interrupt) => {
    const { pid, ended } = startRun();
    await until('a test waits', async () => lines().some((line) => line.startsWith('worker')));
    expect(pids()).toHaveLength(4);
    interrupt(pid);
    const [code] = await ended;
    expect(code).not.toBe(0);
    await noneIsLeft();
  });

  it('with a failing setup leaves no process behind', async () => {
    const { ended } = startRun({ FAIL: '1' });
    const [code] = await ended;
    expect([code, lines().length]).toEqual([1, 2]);
    await noneIsLeft();
  });
});
