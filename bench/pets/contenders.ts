/** Starts contenders and the load, each as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/servers.ts';
import { type Load, type Measured, nodeFlags, type Operation } from './settings.ts';

export const contenders = ['signpost', 'signpost, no Redis', 'textbook', 'plain'] as const;
export type Contender = (typeof contenders)[number];

export type Servers = { readonly databaseUrl: string; readonly redisUrl: string };
export type Started = {
  readonly url: string;
  readonly key: string;
  /** CPU that its process has taken, in microseconds; NaN where there is no /proc. */
  cpuUs(): number;
  stop(): Promise<void>;
};

const PEER_KEY = 'the only key that the peers know';

/** Signpost's log goes to a file, as a machine's would. */
const logFile = join(tmpdir(), 'signpost-bench-pets.log');

/** Starts a contender and waits until it answers. */
export async function startContender(name: Contender, servers: Servers): Promise<Started> {
  const port = String(await freePort());
  const ours = name.startsWith('signpost');
  const child = ours ? runSignpost(name, port, servers) : runPeer(name, port, servers);
  const said = await saidUntil(child, ours ? /Try:/ : /listening/);
  const url = `http://127.0.0.1:${port}`;
  const key = ours ? (/signpost_\w+/.exec(said)?.[0] ?? '') : PEER_KEY;
  if (ours) await createOnce(url, key);
  return {
    url,
    key,
    cpuUs: () => cpuUsOf(child.pid),
    async stop() {
      child.kill();
      await ended(child);
      rmSync(logFile, { force: true });
    },
  };
}

function runSignpost(name: Contender, port: string, servers: Servers): ChildProcess {
  const log = openSync(logFile, 'w');
  try {
    return run('../../src/main.js', { PORT: port, ...signpostEnv(name, servers) }, log);
  } finally {
    closeSync(log); // the process has its own
  }
}

function runPeer(name: Contender, port: string, { databaseUrl }: Servers): ChildProcess {
  return run(`./${name}.js`, { PORT: port, DATABASE_URL: databaseUrl, KEY: PEER_KEY });
}

/** From its first transaction on, which production has soon, Node keeps contexts for every request: 2 µs each. */
async function createOnce(url: string, key: string): Promise<void> {
  const { status } = await fetch(`${url}/v1/pets`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'bench',
    },
    body: '{"name":"Rex","categoryId":1}',
  });
  if (status !== 201) throw new Error(`Signpost answered ${status} to the first request`);
}

/** As production sets it; only the limits are higher than a load from one address and one key could reach. */
function signpostEnv(name: Contender, { databaseUrl, redisUrl }: Servers): Record<string, string> {
  return {
    ROLE: 'api',
    DATABASE_URL: databaseUrl,
    ...(name === 'signpost' && { REDIS_URL: redisUrl }),
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    RATE_LIMIT_PER_KEY: '900000000',
    RATE_LIMIT_PER_ADDRESS: '900000000',
  };
}

/** Runs the load against one operation of a contender for so many seconds. */
export async function runLoad(
  contender: Contender,
  { url, key, cpuUs }: Started,
  operation: Operation,
  seconds: number,
): Promise<Measured> {
  const before = cpuUs();
  const child = run('./load.js', {
    CONTENDER: contender,
    OPERATION: operation,
    URL: url,
    KEY: key,
    SECONDS: String(seconds),
  });
  const load = JSON.parse(await saidUntil(child, /\n/)) as Load; // load.ts prints nothing else
  const used = cpuUs() - before;
  await ended(child);
  return { ...load, cpuUs: Math.round(used / load.answered) };
}

function cpuUsOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): after the name in parentheses, utime and stime are the 12th and 13th field, in ticks of 10 ms.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return Number.NaN;
  }
}

function run(
  path: string,
  env: Readonly<Record<string, string>>,
  stderr: number | 'inherit' = 'inherit',
): ChildProcess {
  const file = fileURLToPath(new URL(path, import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, file], {
    cwd: tmpdir(), // not the project, where a developer may have an .env
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', stderr],
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  child.once('exit', () => process.off('exit', killAtExit));
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** What a process has printed when `pattern` matches it. Rejects where it ends before that. */
async function saidUntil({ stdout }: ChildProcess, pattern: RegExp): Promise<string> {
  let said = '';
  // Left open behind: a process whose pipe is closed would end.
  for await (const chunk of stdout?.setEncoding('utf8').iterator({ destroyOnReturn: false }) ??
    []) {
    said += String(chunk);
    if (pattern.test(said)) return said;
  }
  throw new Error(`a process ended early; it said: ${said}`);
}
