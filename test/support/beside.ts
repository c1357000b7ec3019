/** Roles beside the one that a test is about, whose being processes of their own is not the point. */
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { logOptions } from '../../src/ops/log.ts';
import { welcome } from '../../src/roles/welcome.ts';
import { startSignpost } from '../../src/start.ts';
import { type SignpostProcess, startProcess } from './process.ts';
import { isLongRun } from './run.ts';

export type Beside = Pick<SignpostProcess, 'pid' | 'stop' | 'stdout' | 'output'>;

/** What `docker stop` leaves a process, and more than any test's work takes. */
const STOP_DEADLINE_MS = 20_000;

/** A process in the long run. In the quick one the same program in the test's own, for a tenth of the processor's time. */
export async function startBeside(env: Readonly<Record<string, string>>): Promise<Beside> {
  if (isLongRun) return startProcess(env);
  const result = loadConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = pino(logOptions(result.config.logLevel), { write });
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
