import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, copyFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { Ran } from './cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function linked(): Promise<string> {
  const { bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return bin.signpost;
}

function run(file: string, ...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd: tmpdir() }, (fault, stdout, stderr) => {
      resolve({ code: fault === null ? 0 : Number(fault.code), stdout, stderr });
    });
  });
}

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'signpost-bin-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

test('The command is an executable file of the checkout', async () => {
  await access(join(root, await linked()), constants.X_OK);
});

test('The command runs the program through a link, as npm creates it', async () => {
  const link = join(await folder(), 'signpost');
  await symlink(join(root, await linked()), link);
  const { code, stdout, stderr } = await run(link, 'help');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^Usage: signpost <command> /);
});

test('Without a compiled program, the command says only what to run first', async () => {
  const checkout = await folder();
  await mkdir(join(checkout, 'bin'));
  const copy = join(checkout, 'bin', 'signpost.mjs');
  await copyFile(join(root, await linked()), copy);
  expect(await run(copy, 'doctor', 'docs.shop.test')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'signpost: not compiled yet; run `node scripts/setup.mjs` (or `npm start`) in its folder first\n',
  });
});
