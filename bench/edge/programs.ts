/** Other programs: started in a separate folder, awaited, and ended by their process ID. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { findProgram, missing, type ProgramName } from '../../test/support/programs.ts';
import { sleep } from '../support/processes.ts';

export type Program = { readonly pid: number | undefined; stop(): Promise<void> };

/** Several minutes: 50,000 certificates need one. */
const START_MS_MAX = 300_000;

export function pathOf(name: ProgramName): string {
  const path = findProgram(name);
  if (path === undefined) throw new Error(missing(name) ?? name);
  return path;
}

export async function peerVersions(): Promise<string> {
  const [nginx, caddy] = await Promise.all([
    promisify(execFile)(pathOf('nginx'), ['-v']),
    promisify(execFile)(pathOf('caddy'), ['version']),
  ]);
  return `${nginx.stderr.replace('nginx version: ', '').trim()}, caddy/${caddy.stdout.split(' ')[0]?.trim()}`;
}

/** Resolves when it accepts connections at `port`. Rejects with its output if it exits before that. */
export async function launch(
  name: ProgramName,
  args: readonly string[],
  { cwd, port, env = {} }: { cwd: string; port: number; env?: Readonly<Record<string, string>> },
): Promise<Program> {
  const child = spawn(pathOf(name), args, {
    cwd,
    env: { HOME: cwd, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (said.length < 10_000) said += chunk; // a full pipe would block the program
  });
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const killAtExit = () => child.kill('SIGTERM');
  process.once('exit', killAtExit);
  const deadline = Date.now() + START_MS_MAX;
  while (!(await accepts(port))) {
    if (hasEnded() || Date.now() > deadline) throw new Error(`${name} does not serve:\n${said}`);
    await sleep(20);
  }
  return {
    pid: child.pid,
    async stop() {
      process.off('exit', killAtExit);
      if (hasEnded()) throw new Error(`${name} exited early:\n${said}`);
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
