/** `npm run demo -- --keep`: the lines that it ends with work, and Ctrl-C stops everything. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));
const bash = (command: string) => promisify(execFile)('bash', ['-c', command]);

/** Starts the demo and resolves with what it printed, up to the command that visits the domain. */
async function startDemo() {
  const demo = spawn(process.execPath, ['dist/src/cli/main.js', 'demo', '--keep'], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void demo.kill('SIGKILL'));
  const exited = once(demo, 'exit');
  let output = '';
  for await (const chunk of demo.stdout) {
    output += String(chunk);
    if (/curl .*\n/.test(output)) break;
  }
  return { demo, output, exited };
}

const captured = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';

it('leaves the service, the dashboard and the live domain running until Ctrl-C', async () => {
  const { demo, output, exited } = await startDemo();

  const visit = captured(output, /^ +(curl .*)$/m);
  expect((await bash(`${visit} -sS`)).stdout).toBe('Hello from the project’s deploy.\n');

  const dashboard = captured(output, /^Dashboard: +(\S+)$/m);
  const key = captured(output, /^Key: +(\S+)$/m);
  expect((await fetch(dashboard)).status).toBe(200);
  const authorization = `Bearer ${key}`;
  const projects = await fetch(new URL('v1/projects', dashboard), { headers: { authorization } });
  expect(await projects.json()).toMatchObject([{ slug: 'shop-docs' }]);

  const folder = dirname(captured(visit, /--cacert (\S+)/));
  expect(existsSync(folder)).toBe(true);
  demo.kill('SIGINT');
  expect(await exited).toEqual([0, null]);
  expect(existsSync(folder)).toBe(false);
  await expect(fetch(dashboard)).rejects.toThrow('fetch failed');
});
