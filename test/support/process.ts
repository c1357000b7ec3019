/** Signpost as a process, by docker-compose.yml's command (test/compose-file.test.ts). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { endWithThisProcess } from './children.ts';
import { v8Options } from './v8-options.ts';

export const command = [
  'node',
  '--enable-source-maps',
  '--max-semi-space-size=64',
  'dist/src/main.js',
] as const;

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));
const PATIENCE_MS = 80_000; // shorter than the test timeout, for a better error

export type SignpostProcess = {
  readonly pid: number | undefined;
  /** Waits for `text` in the output. Rejects with all output if the process exits first. */
  printed(text: string): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Its exit code after all output, or null after a signal. */
  readonly ended: Promise<number | null>;
  /** SIGKILL: no handler runs. */
  kill(): Promise<void>;
  /** SIGTERM; returns the exit code. */
  stop(): Promise<number | null>;
  /** Closes its output; what it writes then fails with EPIPE. */
  stopReading(): void;
  stdout(): string;
  stderr(): string;
  /** All output, for failure messages. */
  output(): string;
};

/**
 * Starts a process with the environment `env` only and waits until it is ready. `root`: the project folder with a
 * trailing slash.
 */
export async function startProcess(
  env: Readonly<Record<string, string>>,
  root = projectRoot,
): Promise<SignpostProcess> {
  return ready(launchProcess(env, root));
}

async function ready(started: SignpostProcess): Promise<SignpostProcess> {
  try {
    await started.printed('Signpost is ready');
    return started;
  } catch (fault) {
    await started.kill();
    throw fault;
  }
}

/** A process that each `replace` kills and restarts. */
export async function startReplaceableProcess(env: Readonly<Record<string, string>>) {
  let running = await startProcess(env);
  return {
    async replace() {
      await running.kill();
      running = await startProcess(env);
    },
    stop: () => running.stop(),
  };
}

/** A worker whose jobs resume within 2 s after it is killed (poisoned-worker.mjs, no poison). */
export async function startQuickWorker(
  env: Readonly<Record<string, string>>,
): Promise<SignpostProcess> {
  const noPorts = { EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' };
  return ready(launch([`${projectRoot}test/support/poisoned-worker.mjs`], { ...env, ...noPorts }));
}

/** Like `startProcess`, without waiting. It does not outlive this process. */
export function launchProcess(
  env: Readonly<Record<string, string>>,
  root = projectRoot,
): SignpostProcess {
  return launch([...v8Options, ...command.slice(1).map((argument) => below(root, argument))], env);
}

/** Like `startProcess`, with a limit of file descriptors (`ulimit -n`). */
export async function startLimitedProcess(
  env: Readonly<Record<string, string>>,
  descriptors: number,
): Promise<SignpostProcess> {
  const args = command.slice(1).map((argument) => below(projectRoot, argument));
  const limited = `ulimit -n ${descriptors} && exec "$0" "$@"`;
  return ready(launch(['-c', limited, process.execPath, ...args], env, 'sh'));
}

function launch(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  program = process.execPath,
): SignpostProcess {
  const child = spawn(program, args, {
    cwd: tmpdir(), // not the project, which may have an .env
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const output = () => stdout() + stderr();
  endWithThisProcess(child);
  const ended = once(child, 'close').then(() => child.exitCode);
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  return {
    pid: child.pid,
    printed: (text) => untilPrinted(child, text, output),
    signal,
    ended,
    async kill() {
      signal('SIGKILL');
      await ended;
    },
    stop() {
      signal('SIGTERM');
      return ended;
    },
    stopReading() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    stdout,
    stderr,
    output,
  };
}

function below(root: string, argument: string): string {
  return argument.startsWith('-') ? argument : `${root}${argument}`;
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function untilPrinted(child: ChildProcess, text: string, output: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = (why: string) => () =>
      reject(new Error(`the process ${why} before it printed "${text}":\n${output()}`));
    const late = setTimeout(give('took too long'), PATIENCE_MS);
    const onOutput = () => {
      if (!output().includes(text)) return;
      clearTimeout(late);
      resolve();
    };
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
    child.once('close', () => {
      clearTimeout(late);
      give('ended')();
    });
    onOutput();
  });
}
