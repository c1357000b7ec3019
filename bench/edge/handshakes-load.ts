/** Consecutive handshakes in several lanes, each on a new connection, every certificate verified. Prints Handshakes as JSON. */
import { readFileSync } from 'node:fs';
import { connect, createSecureContext } from 'node:tls';
import { percentile } from '../support/figures.ts';
import { cpuUsOf, setting } from '../support/processes.ts';
import { hostnameOf, visitorsTls } from './settings.ts';

export type HandshakesAsked = {
  readonly port: number;
  readonly rootFile: string;
  /** Number of names to choose from. */
  readonly names: number;
  /** `each`: every name once, in random order; a number of handshakes, or of seconds: names chosen at random. */
  readonly until: 'each' | { readonly count: number } | { readonly seconds: number };
  /** Whether visitors resume the session of their last visit; otherwise every handshake is a full one. */
  readonly isResuming?: boolean;
};

export type Handshakes = {
  readonly count: number;
  /** Resumed sessions. */
  readonly resumed: number;
  /** Handshakes per second. */
  readonly rate: number;
  /** Milliseconds from opening the connection to the end of the handshake. */
  readonly p50: number;
  readonly p99: number;
  /** This process's share of a CPU: near 1, the load generator limits the rate. */
  readonly busy: number;
};

const LANES = 16;

const asked: HandshakesAsked = JSON.parse(setting('ASKED'));
const { port, rootFile, names, until, isResuming = false } = asked;
const secureContext = createSecureContext({ ca: readFileSync(rootFile), ...visitorsTls });

const times: number[] = [];
const sessions = new Map<string, Buffer>();
let resumed = 0;
const next = drawer();
const [start, cpu] = [performance.now(), cpuUsOf(process.pid)];
await Promise.all(Array.from({ length: LANES }, lane));
const tookMs = performance.now() - start;
const handshakes: Handshakes = {
  count: times.length,
  resumed,
  rate: Math.round((times.length / tookMs) * 1_000),
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  busy: (cpuUsOf(process.pid) - cpu) / 1_000 / tookMs,
};
process.stdout.write(`${JSON.stringify(handshakes)}\n`);
process.exit(0);

async function lane(): Promise<void> {
  for (let hostname = next(); hostname !== undefined; hostname = next()) await visit(hostname);
}

function visit(hostname: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const session = sessions.get(hostname);
    const socket = connect({
      ...(session && { session }),
      host: '127.0.0.1',
      port,
      servername: hostname,
      secureContext,
      ALPNProtocols: ['http/1.1'],
    });
    socket.once('secureConnect', () => {
      times.push(performance.now() - from);
      if (socket.isSessionReused()) resumed += 1;
      if (socket.isSessionReused() && !isResuming) reject(new Error('a session was resumed'));
      if (!isResuming || session !== undefined) socket.end();
    });
    // With TLS 1.3 it comes after the handshake (RFC 8446, 4.6.1).
    if (isResuming && session === undefined) {
      socket.once('session', (kept: Buffer) => {
        sessions.set(hostname, kept);
        socket.end();
      });
    }
    socket.once('error', (error) => reject(new Error(`${hostname}: ${error.message}`)));
    socket.once('close', () => resolve());
    socket.resume();
  });
}

/** Returns names until the load is done, then undefined. */
function drawer(): () => string | undefined {
  if (until === 'each') {
    const left = shuffled(names);
    return () => {
      const index = left.pop();
      return index === undefined ? undefined : hostnameOf(index);
    };
  }
  const some = () => hostnameOf(Math.floor(Math.random() * names));
  if ('seconds' in until) {
    const end = performance.now() + 1_000 * until.seconds;
    return () => (performance.now() < end ? some() : undefined);
  }
  let left = until.count;
  return () => (left-- > 0 ? some() : undefined);
}

/** 0 to `count` - 1 in random order (Fisher–Yates). */
function shuffled(count: number): number[] {
  const places = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    const [one = 0, two = 0] = [places[last], places[other]];
    places[last] = two;
    places[other] = one;
  }
  return places;
}
