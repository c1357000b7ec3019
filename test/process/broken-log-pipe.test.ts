import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { endWithThisProcess } from '../support/children.ts';
import { closeAfterEach } from '../support/closings.ts';
import { command } from '../support/process.ts';
import { until } from '../support/world.ts';
import { anyPorts, storageOf } from './support.ts';

const closings = closeAfterEach();
const root = new URL('../../', import.meta.url).pathname;

/** A process whose output goes to one pipe, as in `signpost 2>&1 | head`. */
async function start(level: string) {
  const storage = await storageOf();
  closings.push(storage.close);
  const args = command.slice(1).map((one) => (one.startsWith('-') ? one : `${root}${one}`));
  const child = spawn('sh', ['-c', 'exec "$0" "$@" 2>&1', process.execPath, ...args], {
    env: { PATH: process.env['PATH'], ...storage.env, ...anyPorts, LOG_LEVEL: level },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endWithThisProcess(child);
  closings.push(async () => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const ended = once(child, 'exit').then(([code]) => code);
  await until('it is ready', async () => output.includes('Signpost is ready'));
  const line = output.split('\n').find((one) => one.includes('Signpost is ready')) ?? '';
  return { child, ended, api: JSON.parse(line).api as string };
}

it.each(['info', 'trace'])(
  'A process whose log reader is gone continues, and stops at SIGTERM (LOG_LEVEL=%s)',
  async (level) => {
    const { child, ended, api } = await start(level);
    child.stdout.destroy();
    for (let nth = 0; nth < 200; nth += 1) {
      expect((await fetch(`${api}/pets`)).status).toBe(401); // each is logged
    }
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  },
);
