/** Programs of a bench, each a separate process: starts and ends them, reads their output, CPU and memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** As for `npm start` and in the image (Dockerfile). */
export const nodeFlags = ['--enable-source-maps', '--max-semi-space-size=64'] as const;

export type RunOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** A file descriptor; missing: the output of this process. */
  readonly stderr?: number;
};

/**
 * Runs a module beside `from` (an `import.meta.url`) with only the given environment. It ends with this process.
 * PROFILE=<folder> writes a CPU profile of each process that exits or gets SIGTERM.
 */
export function run(path: string, from: string, { env, stderr }: RunOptions): ChildProcess {
  const folder = process.env['PROFILE'];
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const file = fileURLToPath(new URL(path, from));
  const child = spawn(process.execPath, [...nodeFlags, ...profile, file], {
    cwd: tmpdir(), // the project's folder can contain an .env
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', stderr ?? 'inherit', 'ipc'],
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  child.once('exit', () => process.off('exit', killAtExit));
  return child;
}

/** Resolves when it has exited. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Sends SIGTERM and waits. */
export async function stop(child: ChildProcess): Promise<void> {
  child.kill();
  await ended(child);
}

/** Output of a process up to the match of `pattern`. Rejects if it exits before that. */
export async function saidUntil({ stdout }: ChildProcess, pattern: RegExp): Promise<string> {
  let said = '';
  const output = stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ?? [];
  for await (const chunk of output) {
    said += String(chunk);
    if (pattern.test(said)) {
      stdout?.resume(); // a full pipe would block the process
      return said;
    }
  }
  throw new Error(`a process ended early; it said: ${said}`);
}

/** CPU time of a process in microseconds; NaN without /proc. */
export function cpuUsOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): after the name in parentheses, utime and stime are the 12th and 13th field, in ticks of 10 ms.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return Number.NaN;
  }
}

/** CPU time of a process and its descendants, ended ones included, in microseconds; NaN without /proc. */
export function cpuUsOfTree(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): as above; the next two fields are those of ended children.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return childrenOf(pid).reduce((sum, child) => sum + cpuUsOfTree(child), ticks * 10_000);
  } catch {
    return Number.NaN;
  }
}

/** Memory of a process and its descendants in bytes, shared memory counted once; NaN without /proc. */
export function bytesOfTree(pid: number | undefined): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const own = Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? Number.NaN) * 1_024;
    return childrenOf(pid).reduce((sum, child) => sum + bytesOfTree(child), own);
  } catch {
    return Number.NaN;
  }
}

function childrenOf(pid: number | undefined): readonly number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return listed === '' ? [] : listed.split(' ').map(Number);
}

/** Peak memory of a process in bytes; NaN without /proc. */
export function peakBytesOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1_024;
  } catch {
    return Number.NaN;
  }
}

/** A variable set by the parent process. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run the main.ts beside it`);
  return value;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
