/** Only the failing start; test/flow/demo.test.ts runs the complete demo. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runDemo } from '../../src/cli/demo/demo.ts';

it('signpost demo leaves no folder behind when its test lab cannot start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const noPort = () => Promise.reject(new Error('no port is free'));
  const options = { pauseMs: 0, stop: new AbortController().signal, keep: false, start: noPort };
  await expect(runDemo(() => {}, options)).rejects.toThrow('no port is free');
  expect(await readdir(folder)).toEqual([]);
});
