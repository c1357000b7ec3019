/** The program: one process that plays the roles that ROLE names (`npm start`: all of them). */
import { existsSync } from 'node:fs';
import { destination, pino } from 'pino';
import { type ConfigProblem, loadConfig } from './config.ts';
import { startSignpost } from './start.ts';
import { welcome } from './welcome.ts';

/** Long enough for an order under way to store its step, shorter than an orchestrator's 30 s. */
const STOP_DEADLINE_MS = 20_000;

if (existsSync('.env')) process.loadEnvFile('.env');
const result = loadConfig(process.env);
if (result.ok) {
  await run(result.config);
} else {
  process.stderr.write(wrongVariables(result.problems));
  process.exitCode = 2;
}

async function run(config: Parameters<typeof startSignpost>[0]): Promise<void> {
  const log = pino({ level: config.logLevel }, destination(2));
  const signpost = await startSignpost(config, log);
  process.stdout.write(welcome(config, signpost));

  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    signpost.close(STOP_DEADLINE_MS).then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function wrongVariables(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ variable, problem }) => `  ${variable} ${problem}`);
  return `Signpost cannot start: ${problems.length === 1 ? 'a variable is' : 'some variables are'} wrong.\n${lines.join('\n')}\n`;
}
