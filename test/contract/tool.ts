/** Runs a command of node_modules/.bin as a child process that ends with the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type Tool = {
  /** Waits for output that matches `pattern`. Rejects with all output on exit or timeout. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Its exit code after all output; null after a signal. */
  readonly ended: Promise<number | null>;
  output(): string;
  kill(): Promise<void>;
};

const PATIENCE_MS = 110_000; // shorter than the test timeout, for a better error

/** Its folder is also its home, so it never touches the user's files. */
export function launchTool(
  name: 'prism' | 'redocly',
  args: readonly string[],
  folder: string,
): Tool {
  const program = fileURLToPath(new URL(`../../node_modules/.bin/${name}`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      // Sends nothing to the internet.
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const collect = (chunk: string) => {
    output += chunk;
  };
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const ended = once(child, 'close').then(() => {
    process.off('exit', killAtExit);
    return child.exitCode;
  });
  return {
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = () => {
          clearTimeout(late);
          reject(new Error(`${name} did not print ${pattern}:\n${output}`));
        };
        const late = setTimeout(fail, PATIENCE_MS);
        const onOutput = () => {
          const match = pattern.exec(output);
          if (match === null) return;
          clearTimeout(late);
          resolve(match);
        };
        child.stdout.on('data', onOutput);
        void ended.then(fail);
        onOutput();
      }),
    ended,
    output: () => output,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
