/** Other programs of a bench, each a process of its own: started, listened to, ended, and what they have used. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Those of `npm start` and of the image (Dockerfile). */
export const nodeFlags = ['--enable-source-maps', '--max-semi-space-size=64'] as const;

export type RunOptions = {
  readonly env: Readonly<Record<string, string>>;
  /** A file descriptor; missing: where this process writes. */
  readonly stderr?: number;
};

/**
 * Runs a module beside `from` (an `import.meta.url`) with the environment given and no other. It ends with this process.
 * PROFILE=<folder> leaves a CPU profile of each that ends by itself or by SIGTERM.
 */
export function run(path: string, from: string, { env, stderr }: RunOptions): ChildProcess {
  const folder = process.env['PROFILE'];
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
  const file = fileURLToPath(new URL(path, from));
  const child = spawn(process.execPath, [...nodeFlags, ...profile, file], {
    cwd: tmpdir(), // not the project, where a developer may have an .env
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', stderr ?? 'inherit', 'ipc'],
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  child.once('exit', () => process.off('exit', killAtExit));
  return child;
}

/** Resolves when it has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Asks it to end, and waits. */
export async function stop(child: ChildProcess): Promise<void> {
  child.kill();
  await ended(child);
}

/** What a process has printed when `pattern` matches it. Rejects where it ends before that. */
export async function saidUntil({ stdout }: ChildProcess, pattern: RegExp): Promise<string> {
  let said = '';
  const output = stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ?? [];
  for await (const chunk of output) {
    said += String(chunk);
    if (pattern.test(said)) {
      stdout?.resume(); // read on, or the process would stop at a full pipe
      return said;
    }
  }
  throw new Error(`a process ended early; it said: ${said}`);
}

/** CPU that a process has taken, in microseconds; NaN where there is no /proc. */
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

/** CPU of a process and of all that came from it, living or ended, in microseconds; NaN where there is no /proc. */
export function cpuUsOfTree(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): as above, and the two fields after those hold what its children have taken that have ended.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return childrenOf(pid).reduce((sum, child) => sum + cpuUsOfTree(child), ticks * 10_000);
  } catch {
    return Number.NaN;
  }
}

/** Memory of a process and of all that came from it, in bytes, what several share counted once; NaN where there is no /proc. */
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

/** The most memory that a process has had so far, in bytes; NaN where there is no /proc. */
export function peakBytesOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1_024;
  } catch {
    return Number.NaN;
  }
}

/** A variable that the parent process has set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run the main.ts beside it`);
  return value;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
