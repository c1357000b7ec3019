/** Runs the command line in this process or, compiled, in a separate one. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runSignpost } from '../../src/cli/signpost.ts';
import { capturedIo } from './io.ts';

/** The compiled program that a shell would run. */
export const program = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };
type Env = Readonly<Record<string, string>>;

/** Calls `signpost …` with `env` as its environment and without an .env; never rejects. */
export function signpost(args: readonly string[], env: Env = {}): Promise<Ran> {
  return startCommand(args, env).ended;
}

/** The same for long commands: `said` has the standard error so far. */
export function startCommand(
  args: readonly string[],
  env: Env,
): { readonly said: () => string; readonly ended: Promise<Ran> } {
  const { io, said } = capturedIo(env);
  const ended = runSignpost(args, io).then((code) => {
    return { code, stdout: said.out(), stderr: said.err() };
  });
  return { said: said.err, ended };
}

/** Starts `signpost …` as a process, which takes half a second of CPU time. Never rejects. */
export function spawnSignpost(
  args: readonly string[],
  env: Env = {},
  cwd = tmpdir(), // a folder without an .env
): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd, env: { PATH: process.env['PATH'], ...env } };
    execFile(process.execPath, [program, ...args], options, (fault, stdout, stderr) => {
      resolve({ code: fault === null ? 0 : Number(fault.code), stdout, stderr });
    });
  });
}

/** Starts it at a terminal (script(1) provides one), where both outputs are merged. */
export function typeCommand(args: readonly string[], env: Env) {
  const command = [process.execPath, program, ...args].map((part) => `'${part}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let shown = '';
  child.stdout.on('data', (text: Buffer) => {
    shown += text.toString();
  });
  return {
    shown: () => shown,
    interrupt: () => void child.stdin.write('\u0003'), // Ctrl-C
    /** Its exit code, as a shell sees it. */
    ended: once(child, 'close').then(([code]) => Number(code)),
  };
}
