import { existsSync } from 'node:fs';
import { inspect } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import type { ConfigProblem } from './config/combinations.ts';
import { type Config, loadConfig } from './config/config.ts';
import { logOptions } from './ops/log.ts';
import { startProblem } from './roles/start-problem.ts';
import { welcome } from './roles/welcome.ts';
import { type Signpost, startSignpost } from './start.ts';

/** Long enough for a running order to store its step, shorter than an orchestrator's 30 s. */
const STOP_DEADLINE_MS = 20_000;
const LOG_CHUNK_BYTES = 16_000; // pino writes at most 16 KiB
const LOG_FLUSH_MS = 1_000;

if (existsSync('.env')) process.loadEnvFile('.env');
const result = loadConfig(process.env);
if (result.ok) {
  await run(result.config);
} else {
  process.stderr.write(wrongVariables(result.problems));
  process.exitCode = 2;
}

async function run(config: Config): Promise<void> {
  const log = openLog(config.logLevel);
  let signpost: Signpost | undefined;
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return; // npm and the terminal each send one
    stopping = true;
    log.info({ signal }, 'stopping');
    // Before the start completes, no work was accepted that could be lost.
    if (signpost === undefined) process.exit(0);
    signpost.close(STOP_DEADLINE_MS).then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  // Registered first: a container's first process cannot be stopped otherwise.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  try {
    signpost = await startSignpost(config, log);
  } catch (fault) {
    process.stderr.write(`Signpost cannot start: ${startProblem(fault, config)}\n`);
    if (log.isLevelEnabled('debug')) process.stderr.write(`${inspect(fault)}\n`);
    process.exit(1); // open resources keep the process alive
  }
  process.stdout.write(welcome(config, signpost));
}

/** JSON lines on standard error, buffered. SIGKILL loses up to a second. */
function openLog(level: Config['logLevel']): Logger {
  const log = pino(
    logOptions(level),
    destination({ dest: 2, sync: false, minLength: LOG_CHUNK_BYTES }),
  );
  setInterval(() => log.flush(), LOG_FLUSH_MS).unref();
  return log;
}

function wrongVariables(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ variable, problem }) => `  ${variable} ${problem}`);
  return `Signpost cannot start: ${problems.length === 1 ? 'a variable is' : 'some variables are'} wrong.\n${lines.join('\n')}\n`;
}
