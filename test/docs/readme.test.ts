/** Every shell block of the README. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { blocksOf } from './blocks.ts';
import { replaceAll, runShell } from './shell.ts';

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));
const [commands = '', demo = '', pets = '', ...others] = blocksOf('README.md', 'sh');

/** Runs a line of the README in a shell, as a reader does, and ends it with Ctrl-C. */
async function runLine(line: string, env: Readonly<Record<string, string>>, until: RegExp) {
  const child = spawn('bash', ['-c', line], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true, // a group of its own, which a terminal's Ctrl-C reaches as a whole
  });
  const exited = once(child, 'exit');
  const interrupt = () => process.kill(-(child.pid ?? 0), 'SIGINT');
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) interrupt();
    await exited;
  });
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (until.test(output)) break;
  }
  return output;
}

it('has three shell blocks', () => {
  expect(others).toEqual([]);
  expect(commands.match(/^npm \w+/gm)).toEqual(['npm start', 'npm test']);
  expect(demo).toBe('npm run demo -- --keep\n'); // test/flow/demo.test.ts runs it
});

it('starts the service by its first command, and its calls to the pets API are answered', async () => {
  const { storage, close } = await freshStorage('embedded');
  onTestFinished(close);
  if (storage.kind !== 'embedded') throw new Error('freshStorage gave another storage');
  const port = await freePort();
  const env = {
    DATA_DIR: storage.dataDir,
    PORT: String(port),
    EDGE_HTTP_PORT: '0',
    EDGE_HTTPS_PORT: '0',
  };
  const start = commands.split('\n', 1)[0] ?? '';
  const output = await runLine(start, env, /signpost_\w{50}/);
  const key = /signpost_\w{50,}/.exec(output)?.[0] ?? '';

  const script = replaceAll(pets, [['localhost:3000', `localhost:${port}`]]);
  const { stdout, code } = await runShell(script.replaceAll('curl ', 'curl -sS '), { KEY: key });
  expect(code).toBe(0);
  const pet = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };
  expect(stdout).toBe(`[]${JSON.stringify(pet)}${JSON.stringify(pet)}`);
});
