/** The service as a process of its own, looked at from outside: what it logs, what it holds on to, and whether it lives. */
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

/** Octets in use after a garbage collection, and the connections that are open. */
export type Memory = {
  readonly heapUsed: number;
  readonly external: number;
  readonly connections: number;
};

export type FuzzedService = {
  readonly port: number;
  readonly adminKey: string;
  /** For how many ms of a time it, its database or this process stood still. */
  stalledWithin(span: Span): Promise<number>;
  measure(): Promise<Memory>;
  /** A turn of its event loop in which it worked for far too long, in words; null where there was none. */
  longTurn(): string | null;
  /** Has it work without a pause, so that there was one. */
  block(): Promise<void>;
  /** As the administrator; gives the body of the answer, and rejects where it is refused. */
  readonly call: Call;
  /** Log lines of level error or worse, and everything that is no log line. */
  faults(): readonly string[];
  /** Whether the process that was started still listens to us. */
  isAlive(): Promise<boolean>;
  /** Ends it as an operator would; gives its exit code, or the signal that ended it. */
  stop(): Promise<number | string | null>;
};

/** As docker-compose.yml has it (test/support/process.ts), and with a collection that can be asked for. */
const nodeOptions = ['--enable-source-maps', '--max-semi-space-size=64', '--expose-gc'];

/** Starts it over a fresh database, with limits that the run does not reach; settings are otherwise those of production. */
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
  child.setMaxListeners(0); // every connection of a run may ask at once
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

/** What service.mjs says: one of these. */
type Message = {
  readonly address: string;
  readonly memory: Memory;
  readonly settled: true;
  readonly block: true;
  readonly stall?: Span;
  readonly turn?: string;
};

/** The next message of a kind. Rejects where the process ends instead. */
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

/** Reads the log to its end, which goes nowhere but for these lines. */
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
  const sent = request(url, { method, headers, agent: false }); // leaves no connection behind
  sent.end(body && JSON.stringify(body));
  const [answer] = await once(sent, 'response');
  const received = await text(answer);
  if (answer.statusCode >= 400) throw new Error(`${method} ${url}: ${received}`);
  return received === '' ? null : JSON.parse(received);
}
