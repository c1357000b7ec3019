/** Signpost as a process of its own, by the command that docker-compose.yml runs (test/compose-file.test.ts). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const command = [
  'node',
  '--enable-source-maps',
  '--max-semi-space-size=64',
  'dist/src/main.js',
] as const;

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));
const READY_MS = 30_000;

export type SignpostProcess = {
  /** Ends it as a crash would: no handler runs. */
  kill(): Promise<void>;
  /** Ends it as an operator would, and gives its exit code. */
  stop(): Promise<number | null>;
  /** Everything that it has written, for a failure's message. */
  output(): string;
};

/** Starts a process with nothing in its environment but `env`, and waits until it says that it is ready. */
export async function startProcess(
  env: Readonly<Record<string, string>>,
): Promise<SignpostProcess> {
  const [, ...args] = command;
  const child = spawn(process.execPath, args, {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  await untilReady(child, () => output);
  return {
    kill: async () => void (await end(child, 'SIGKILL')),
    stop: () => end(child, 'SIGTERM'),
    output: () => output,
  };
}

async function untilReady(child: ChildProcess, output: () => string): Promise<void> {
  const ready = new Promise<void>((resolve) => {
    child.stdout?.on('data', () => output().includes('Signpost is ready') && resolve());
  });
  const ended = once(child, 'exit').then(() => 'ended' as const);
  const late = new Promise<'late'>((resolve) =>
    setTimeout(() => resolve('late'), READY_MS).unref(),
  );
  const outcome = await Promise.race([ready, ended, late]);
  if (outcome === undefined) return;
  child.kill('SIGKILL');
  throw new Error(`the process did not become ready (${outcome}):\n${output()}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  return child.exitCode;
}
