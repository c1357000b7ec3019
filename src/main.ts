import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Logger, pino } from 'pino';
import type { ConfigProblem } from './config/combinations.ts';
import { type Config, loadConfig } from './config/config.ts';
import { projectVersion } from './config/root-folder.ts';
import { STOP_MS } from './core/time.ts';
import { logOptions } from './ops/log.ts';
import { openLogDestination } from './ops/log-destination.ts';
import { isReady } from './ops/readiness.ts';
import { startProblem, welcome, welcomeFields } from './process/welcome.ts';
import { type Signpost, startSignpost } from './start.ts';

const READY_EVERY_MS = 250;
const CANNOT_START = 'Signpost cannot start';

// If the reader of the output closes it (EPIPE), the process keeps running.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

if (existsSync('.env')) process.loadEnvFile('.env');
const result = loadConfig(process.env);
if (result.ok) {
  await run(result.config);
} else {
  const role = process.env['ROLE'] ?? 'all';
  const { problems } = result;
  if (process.stdout.isTTY) process.stderr.write(wrongVariables(problems));
  else process.stderr.write(jsonLine(60, { role, problems }, CANNOT_START));
  process.exitCode = 2;
}

async function run(config: Config): Promise<void> {
  const log = openLog(config);
  let signpost: Signpost | undefined;
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return; // npm and the terminal each send one
    stopping = true;
    log.info({ signal }, 'stopping');
    const stopped = (code: 0 | 1) => {
      log.info({ code }, 'stopped');
      process.exit(code);
    };
    // Before the start completes, no work was accepted that could be lost.
    if (signpost === undefined) return stopped(0);
    signpost.close(STOP_MS).then(
      () => stopped(0),
      (err: unknown) => {
        log.fatal({ err }, 'could not stop cleanly');
        stopped(1);
      },
    );
  };
  // Registered first: a container's first process cannot be stopped otherwise.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  try {
    signpost = await startSignpost(config, log);
  } catch (fault) {
    sayWhy(config, log, fault);
    process.exit(1); // open resources keep the process alive
  }
  await untilReady(signpost);
  const { role } = config;
  process.stdout.write(
    process.stdout.isTTY
      ? welcome(config, signpost)
      : jsonLine(30, { role, ...welcomeFields(config, signpost) }, 'Signpost is ready'),
  );
}

/** The log says what is missing (src/ops/outages.ts). */
async function untilReady({ readiness }: Signpost): Promise<void> {
  while (!isReady((await readiness()).status)) await wait(READY_EVERY_MS);
}

function sayWhy(config: Config, log: Logger, fault: unknown): void {
  const problem = startProblem(fault, config);
  if (!process.stdout.isTTY) {
    log.fatal({ problem, ...(log.isLevelEnabled('debug') && { err: fault }) }, CANNOT_START);
    return;
  }
  process.stderr.write(`${CANNOT_START}: ${problem}\n`);
  if (log.isLevelEnabled('debug')) process.stderr.write(`${inspect(fault)}\n`);
}

/** JSON lines on standard error. SIGKILL loses up to a second. */
function openLog(config: Config): Logger {
  const lines = openLogDestination(process.stderr.fd);
  process.on('exit', lines.flushSync);
  return pino(logOptions(config), lines);
}

/** Outside the log: for standard output, or before there is a log. */
function jsonLine(level: number, fields: object, msg: string): string {
  const version = projectVersion();
  return `${JSON.stringify({ level, time: Date.now(), pid: process.pid, version, ...fields, msg })}\n`;
}

function wrongVariables(problems: readonly ConfigProblem[]): string {
  const lines = problems.map(({ variable, problem }) => `  ${variable} ${problem}`);
  return `${CANNOT_START}: ${problems.length === 1 ? 'a variable is' : 'some variables are'} wrong.\n${lines.join('\n')}\n`;
}
