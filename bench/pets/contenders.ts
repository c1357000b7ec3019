/** Starts contenders and the load, each as a separate process. */
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/servers.ts';
import { cpuUsOf, ended, run, saidUntil, stop } from '../support/processes.ts';
import type { Load, Measured, Operation } from './settings.ts';

export const contenders = ['signpost', 'signpost, no Redis', 'textbook', 'plain'] as const;
export type Contender = (typeof contenders)[number];

export type Servers = { readonly databaseUrl: string; readonly redisUrl: string };
export type Started = {
  readonly url: string;
  readonly key: string;
  /** CPU time of its process in microseconds; NaN without /proc. */
  cpuUs(): number;
  stop(): Promise<void>;
};

const PEER_KEY = 'the only key that the peers know';

/** Signpost's log goes to a file, as in production. */
const logFile = join(tmpdir(), 'signpost-bench-pets.log');

/** Starts a contender and waits until it answers. */
export async function startContender(name: Contender, servers: Servers): Promise<Started> {
  const port = String(await freePort());
  const ours = name.startsWith('signpost');
  const child = ours ? runSignpost(name, port, servers) : runPeer(name, port, servers);
  const said = await saidUntil(child, ours ? /Signpost is ready/ : /listening/);
  const url = `http://127.0.0.1:${port}`;
  const key = ours ? (/signpost_\w+/.exec(said)?.[0] ?? '') : PEER_KEY;
  if (ours) await createOnce(url, key);
  return {
    url,
    key,
    cpuUs: () => cpuUsOf(child.pid),
    async stop() {
      await stop(child);
      rmSync(logFile, { force: true });
    },
  };
}

function runSignpost(name: Contender, port: string, servers: Servers): ChildProcess {
  const log = openSync(logFile, 'w');
  try {
    const env = { PORT: port, ...signpostEnv(name, servers) };
    return run('../../src/main.js', import.meta.url, { env, stderr: log });
  } finally {
    closeSync(log); // the process has a copy
  }
}

function runPeer(name: Contender, port: string, { databaseUrl }: Servers): ChildProcess {
  const env = { PORT: port, DATABASE_URL: databaseUrl, KEY: PEER_KEY };
  return run(`./${name}.js`, import.meta.url, { env });
}

/** From the first transaction on, Node keeps an async context for every request: 2 µs each. Production has it, too. */
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

/** As in production, with higher limits: the load comes from one address with one key. */
function signpostEnv(name: Contender, { databaseUrl, redisUrl }: Servers): Record<string, string> {
  return {
    ROLE: 'api',
    DATABASE_URL: databaseUrl,
    ACME_DIRECTORY_URL: 'local',
    ...(name === 'signpost' && { REDIS_URL: redisUrl }),
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    RATE_LIMIT_PER_KEY: '900000000',
    RATE_LIMIT_PER_ADDRESS: '900000000',
  };
}

/** Runs the load against one operation of a contender for this many seconds. */
export async function runLoad(
  contender: Contender,
  { url, key, cpuUs }: Started,
  operation: Operation,
  seconds: number,
): Promise<Measured> {
  const before = cpuUs();
  const env = {
    CONTENDER: contender,
    OPERATION: operation,
    URL: url,
    KEY: key,
    SECONDS: String(seconds),
  };
  const child = run('./load.js', import.meta.url, { env });
  const load = JSON.parse(await saidUntil(child, /\n/)) as Load; // load.ts prints only this
  const used = cpuUs() - before;
  await ended(child);
  return { ...load, cpuUs: Math.round(used / load.answered) };
}
