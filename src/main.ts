/** The program: one process that plays the roles that ROLE names (`npm start`: all of them). */
import { existsSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { inspect } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import { type Config, type ConfigProblem, loadConfig } from './config.ts';
import { logOptions } from './ops/log.ts';
import { type Signpost, startSignpost } from './start.ts';
import { welcome } from './welcome.ts';

/** Long enough for an order under way to store its step, shorter than an orchestrator's 30 s. */
const STOP_DEADLINE_MS = 20_000;
const LOG_CHUNK_BYTES = 16_000; // pino writes 16 KiB at most
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
    if (stopping) return; // npm and a terminal send one each
    stopping = true;
    log.info({ signal }, 'stopping');
    // While it starts, perhaps waiting for a database, nothing has been accepted that could be lost.
    if (signpost === undefined) process.exit(0);
    signpost.close(STOP_DEADLINE_MS).then(
      () => process.exit(0),
      (err: unknown) => {
        log.error({ err }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  // From the start: the first process of a container has no other way to be stopped.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  try {
    signpost = await startSignpost(config, log);
  } catch (fault) {
    process.stderr.write(`Signpost cannot start: ${startProblem(fault, config)}\n`);
    if (log.isLevelEnabled('debug')) process.stderr.write(`${inspect(fault)}\n`);
    process.exit(1); // what was opened meanwhile keeps the process alive
  }
  process.stdout.write(welcome(config, signpost));
}

/**
 * JSON lines on standard error, gathered to spare a system call for each request. What was gathered leaves within
 * a second and when the process ends; SIGKILL loses that second.
 */
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

/** One line. What the operating system refused is said in terms of the variable to change. */
function startProblem(fault: unknown, config: Config): string {
  const system = systemFault(fault);
  const known = system && (portProblem(system, config) ?? fileProblem(system, config));
  const message = fault instanceof Error ? fault.message || fault.name : String(fault);
  return (known ?? message).replace(/\s+/g, ' ').trim();
}

type SystemFault = NodeJS.ErrnoException & { readonly port?: number };

/** What the operating system refused, thrown as it is or as the cause of what was thrown. */
function systemFault(fault: unknown): SystemFault | undefined {
  if (!(fault instanceof Error)) return undefined;
  // Only Node's system errors have a syscall, and the type lists the fields of these.
  return 'syscall' in fault ? (fault as SystemFault) : systemFault(fault.cause);
}

/** Who listens names its own variable; that it met another one of ours is known only here. */
function portProblem(
  { syscall, port }: SystemFault,
  { http, edge, metrics }: Config,
): string | undefined {
  const ports = {
    PORT: http.port,
    EDGE_HTTP_PORT: edge.httpPort,
    EDGE_HTTPS_PORT: edge.httpsPort,
    METRICS_PORT: metrics.port,
  };
  const [first, ...others] = Object.entries(ports).filter(([, one]) => one === port);
  if (syscall !== 'listen' || first === undefined || others.length === 0) return undefined;
  const names = [first, ...others].map(([name]) => name).join(' and ');
  return `${names} are the same, ${port}: each needs a port of its own`;
}

function fileProblem({ path, message }: SystemFault, config: Config): string | undefined {
  if (path === undefined) return undefined;
  const { storage, acme } = config;
  const files = {
    DATA_DIR: storage.kind === 'embedded' ? storage.dataDir : undefined,
    ACME_CA_FILE: acme.caFile,
  };
  const within = (inner: string, outer: string) => `${resolve(inner)}${sep}`.startsWith(outer);
  // The path may be a folder above the one that was to be made, or a file in it.
  const concerned = Object.entries(files).find(
    ([, file]) =>
      file !== undefined &&
      (within(path, `${resolve(file)}${sep}`) || within(file, `${resolve(path)}${sep}`)),
  );
  return concerned && `${concerned[0]} ${concerned[1]} cannot be used: ${message}`;
}
