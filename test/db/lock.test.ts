import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockDirectory } from '../../src/db/engine/embedded/stream.ts';

let directory: string;
let file: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signpost-lock-'));
  file = join(directory, 'signpost.lock');
});
afterEach(() => rm(directory, { recursive: true }));

test('a directory is locked by one owner, also within a process', async () => {
  const unlock = await lockDirectory(directory);
  await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${process.pid}`);
  await unlock();
  await (await lockDirectory(directory))();
  expect(await readdir(directory)).toEqual([]);
});

test('a living process keeps its directory', async () => {
  const startedAt = (await readFile(`/proc/${process.ppid}/stat`, 'utf8').catch(() => ''))
    .replace(/^.*\) /, '')
    .split(' ')[19];
  await writeFile(file, JSON.stringify({ pid: process.ppid, startedAt: startedAt ?? '' }));
  await expect(lockDirectory(directory)).rejects.toThrow(`in use by process ${process.ppid}`);
});

const stale: readonly [string, string][] = [
  ['a dead process', JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1' })],
  ['an earlier process with our own PID', JSON.stringify({ pid: process.pid, startedAt: '1' })],
  ['a machine that lost power while writing it', ''],
];
test.each(stale)('a lock of %s is taken over', async (_owner, content) => {
  await writeFile(file, content);
  const unlock = await lockDirectory(directory);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ pid: process.pid });
  await unlock();
});

test.runIf(process.platform === 'linux')(
  'a lock of an earlier process whose PID was reused is taken over',
  async () => {
    await writeFile(file, JSON.stringify({ pid: process.ppid, startedAt: '1' }));
    await (await lockDirectory(directory))();
  },
);

test('one of several processes gets the directory of a stale lock', async () => {
  await writeFile(file, JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1' }));
  const tries = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});
