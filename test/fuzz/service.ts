/** The service as a child process: its log, memory and exit. */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { storageOf } from '../process/support.ts';
import type { Call } from './known.ts';
import { createStalls, type Span } from './stalls.ts';

/** Octets in use after a garbage collection, and open connections. */
export type Memory = {
  readonly heapUsed: number;
  readonly external: number;
  readonly connections: number;
};

export type FuzzedService = {
  readonly port: number;
  readonly adminKey: string;
  /** For how many ms of the span it, its database or this process stood still. */
  stalledWithin(span: Span): Promise<number>;
  measure(): Promise<Memory>;
  /** Describes an event loop turn that took too long; null if none did. */
  longTurn(): string | null;
  /** Blocks its event loop, which causes a long turn. */
  block(): Promise<void>;
  /** As the administrator; returns the body and rejects on an error. */
  readonly call: Call;
  /** Log lines of level error or worse, and all output that is not a log line. */
  faults(): readonly string[];
  /** Whether the started process still responds. */
  isAlive(): Promise<boolean>;
  /** Sends SIGTERM; returns the exit code or signal. */
  stop(): Promise<number | string | null>;
};

/** As in docker-compose.yml (test/support/process.ts), with a callable garbage collection. */
const nodeOptions = ['--enable-source-maps', '--max-semi-space-size=64', '--expose-gc'];

/** Starts it over a fresh database with production settings and very high limits. */
export async function startFuzzedService(): Promise<FuzzedService> {
  const storage = await storageOf();
  const adminKey = `fuzz-${randomBytes(16).toString('hex')}`;
  const child = fork(fileURLToPath(new URL('service.mjs', import.meta.url)), [], {
    cwd: tmpdir(),
    execArgv: nodeOptions,
    env: {
      ...storage.env,
      PATH: process.env['PATH'],
      ROLE: 'api',
      PORT: '0',
      API_KEY: adminKey,
      CORS_ORIGINS: 'https://shop.example',
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT_PER_KEY: '100000000',
      RATE_LIMIT_PER_ADDRESS: '100000000',
    },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  child.setMaxListeners(0); // every connection of a run may wait at once
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const ended = once(child, 'close');
  const faults = collectFaults(child);
  const stalls = createStalls();
  let longTurn: string | null = null;
  child.on('message', ({ stall, turn }: Message) => {
    if (stall !== undefined) stalls.add(stall);
    if (turn !== undefined) longTurn = turn;
  });
  const ask = (question: 'memory' | 'settled' | 'block') => {
    const answer = reported(child, question, faults);
    if (child.connected) child.send(question);
    return answer;
  };
  const { address } = await reported(child, 'address', faults);
  return {
    port: Number(new URL(address).port),
    call: (method, path, body) => callAs(adminKey, method, address + path, body),
    adminKey,
    async stalledWithin(span) {
      await ask('settled');
      return stalls.within(span);
    },
    faults: () => faults,
    longTurn: () => longTurn,
    block: async () => void (await ask('block')),
    isAlive: () =>
      ask('settled').then(
        () => true,
        () => false,
      ),
    measure: async () => (await ask('memory')).memory,
    async stop() {
      stalls.close();
      if (child.connected) child.send('stop');
      await ended;
      process.off('exit', killAtExit);
      await storage.close();
      return child.exitCode ?? child.signalCode;
    },
  };
}

/** The messages of service.mjs. */
type Message = {
  readonly address: string;
  readonly memory: Memory;
  readonly settled: true;
  readonly block: true;
  readonly stall?: Span;
  readonly turn?: string;
};

/** The next message of a kind. Rejects if the process exits. */
function reported(
  child: ChildProcess,
  kind: keyof Message,
  faults: readonly string[],
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => () => {
      child.off('message', onMessage);
      child.off('close', lost);
      act();
    };
    const onMessage = (message: Message) => {
      if (kind in message) settle(() => resolve(message))();
    };
    const lost = settle(() => reject(new Error(`the service has ended:\n${faults.join('\n')}`)));
    child.on('message', onMessage);
    child.on('close', lost);
    if (child.exitCode !== null || child.signalCode !== null) lost();
  });
}

/** Reads the log to its end and keeps only these lines. */
function collectFaults(child: ChildProcess): readonly string[] {
  const faults: string[] = [];
  let begun = '';
  child.stderr?.setEncoding('latin1').on('data', (chunk: string) => {
    const lines = (begun + chunk).split('\n');
    begun = lines.pop() ?? '';
    // pino's levels: 50 is error, 60 is fatal.
    for (const line of lines) if (!/^\{"level":[1-4]0,/.test(line)) faults.push(line);
  });
  return faults;
}

async function callAs(key: string, method: string, url: string, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sent = request(url, { method, headers, agent: false }); // keeps no connection open
  sent.end(body && JSON.stringify(body));
  const [answer] = await once(sent, 'response');
  const received = await text(answer);
  if (answer.statusCode >= 400) throw new Error(`${method} ${url}: ${received}`);
  return received === '' ? null : JSON.parse(received);
}
