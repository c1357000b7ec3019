import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { logOptions } from '../../src/ops/log.ts';
import { welcome } from '../../src/process/welcome.ts';
import { startSignpost } from '../../src/start.ts';
import { type SignpostProcess, startProcess } from './process.ts';
import { isLongRun } from './run.ts';

export type Beside = Pick<SignpostProcess, 'pid' | 'stop' | 'stdout' | 'output'>;

/** The grace period of `docker stop`, and longer than any test's work. */
const STOP_DEADLINE_MS = 20_000;

/** A separate process in the long run; in-process in the quick run, for a tenth of the CPU time. */
export async function startBeside(env: Readonly<Record<string, string>>): Promise<Beside> {
  return isLongRun ? startProcess(env) : startInProcess(env);
}

/** Its standard output is what a terminal shows. */
export async function startInProcess(env: Readonly<Record<string, string>>): Promise<Beside> {
  const result = loadConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = pino(logOptions(result.config), { write });
  const signpost = await startSignpost(result.config, log);
  let stopped: Promise<void> | undefined;
  return {
    pid: process.pid,
    stdout: () => welcome(result.config, signpost),
    output: () => welcome(result.config, signpost) + lines.join(''),
    async stop() {
      stopped ??= signpost.close(STOP_DEADLINE_MS);
      await stopped;
      return 0;
    },
  };
}
