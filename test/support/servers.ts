/** Private copies of redis-server and PostgreSQL on free ports and in new folders. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chownSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { endWithThisProcess } from './children.ts';
import { copyInto, prepared } from './prepared.ts';
import { findProgram, missing, type ProgramName } from './programs.ts';

export type RedisServer = {
  readonly url: string;
  flush(): Promise<void>;
  /** SIGKILL: its data is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export type PostgresServer = {
  readonly data: string;
  /** The maintenance database, as a superuser without a password. */
  readonly url: string;
  /** Cuts all connections and stops. */
  stop(): Promise<void>;
  /** Starts it again with its data, on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

/** Takes some milliseconds. Throws if Redis is not installed. */
export async function startRedis(): Promise<RedisServer> {
  const program = required('redis-server');
  const directory = await mkdtemp(join(tmpdir(), 'signpost-redis-'));
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory];
  const start = () => startServer(program, args, {}, 'Ready to accept connections');
  let server = await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    flush: () => flush(port),
    kill: () => server.end('SIGKILL'),
    async restart() {
      server = await start();
    },
    async close() {
      await server.end('SIGTERM');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function flush(port: number): Promise<void> {
  const client = new Redis({ host: '127.0.0.1', port });
  await client.flushall();
  client.disconnect();
}

export type PostgresOptions = {
  /** As in production: commits survive a power failure. For benches. */
  readonly durable?: boolean;
  /** Copied as the data directory; empty by default. */
  readonly data?: string;
  /** The parent of its folder. */
  readonly below?: string;
  readonly maxConnections?: number;
};

/** Starts a PostgreSQL with a new data folder. Throws if it is not installed. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { durable = false, below = tmpdir(), maxConnections = 300 } = options;
  const postgres = required('postgres');
  const user = unprivilegedUser();
  const data = await mkdtemp(join(below, 'signpost-postgres-'));
  await copyInto(data, options.data ?? (await emptyCluster()));
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: String(maxConnections),
    fsync: durable ? 'on' : 'off', // test data is disposable
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const start = () =>
    startServer(postgres, ['-D', data, ...args], user, 'ready to accept connections');
  let server = await start();
  return {
    data,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => server.end('SIGINT'), // PostgreSQL's "fast" shutdown
    async restart() {
      server = await start();
    },
    async close() {
      await server.end('SIGINT');
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** A cached data directory from initdb. */
function emptyCluster(): Promise<string> {
  const initdb = required('initdb');
  const user = unprivilegedUser();
  const args = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '-N'];
  return prepared('postgres', [initdb, String(statSync(initdb).mtimeMs)], async (folder) => {
    // Not in `folder`, which the other user may not be able to read.
    const directory = await mkdtemp(join(tmpdir(), 'signpost-initdb-'));
    if (user.uid !== undefined) chownSync(directory, user.uid, user.gid ?? user.uid);
    const made = spawn(initdb, ['-D', directory, ...args], { ...user, stdio: 'ignore' });
    const [code] = await once(made, 'exit');
    if (code !== 0) throw new Error(`initdb ended with ${code}`);
    await copyInto(folder, directory);
    await rm(directory, { recursive: true });
  });
}

/**
 * Below the ephemeral port range and with a separate share per Vitest process, so that a port stays free while its
 * server is down.
 */
const SHARE = 2_500;
const SHARES = 8;
/** Vitest numbers its processes from 1; a process without a number uses the first share. */
const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % SHARES;
const PORTS = { from: 10_000 + share * SHARE, count: SHARE } as const;
const given = new Set<number>();

/** A port that is free on every loopback address, over UDP and TCP; never repeated. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const [udp, tcp] = [createSocket('udp4').bind(port), createServer().listen(port, '0.0.0.0')];
  const bound = await Promise.allSettled([once(udp, 'listening'), once(tcp, 'listening')]);
  await Promise.all([
    new Promise((resolve) => udp.close(() => resolve(null))),
    new Promise((resolve) => tcp.close(resolve)),
  ]);
  return bound.every(({ status }) => status === 'fulfilled');
}

type Running = { end(signal: NodeJS.Signals): Promise<void> };

/** Resolves when the server has printed `ready`. It always ends with this process. */
async function startServer(
  program: string,
  args: readonly string[],
  user: { uid?: number; gid?: number },
  ready: string,
): Promise<Running> {
  const child = spawn(program, args, { ...user, env: { LC_ALL: 'C' }, cwd: '/' });
  const exited = once(child, 'exit');
  endWithThisProcess(child);
  await printed(child, ready, program);
  return {
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

function printed(child: ChildProcess, text: string, program: string): Promise<void> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${program} ended:\n${lines.join('\n')}`)));
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      // Read to the end, or the server would block on a full pipe.
      createInterface(output).on('line', (line) => {
        if (lines.length < 100) lines.push(line);
        if (line.includes(text)) resolve();
      });
    }
  });
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = ['postgres', 'nobody'].flatMap((name) => users.filter(([each]) => each === name))[0];
  return { uid: Number(user?.[2] ?? 65_534), gid: Number(user?.[3] ?? 65_534) };
}

function required(name: ProgramName): string {
  const program = findProgram(name);
  if (program === undefined) throw new Error(missing(name) ?? name);
  return program;
}
