/** Handshakes one after the other on a number of lanes, each on a connection of its own, every certificate verified. Prints Handshakes as JSON. */
import { readFileSync } from 'node:fs';
import { connect, createSecureContext } from 'node:tls';
import { percentile } from '../support/figures.ts';
import { cpuUsOf, setting } from '../support/processes.ts';
import { hostnameOf, visitorsTls } from './settings.ts';

export type HandshakesAsked = {
  readonly port: number;
  readonly rootFile: string;
  /** Names to draw from: the first so many. */
  readonly names: number;
  /** Each once, in a random order; or so many handshakes; or as many as there are in so many seconds, the names drawn. */
  readonly until: 'each' | { readonly count: number } | { readonly seconds: number };
  /** Whether visitors come back with the session of their last visit of a name; else every handshake is a whole one. */
  readonly isResuming?: boolean;
};

export type Handshakes = {
  readonly count: number;
  /** How many of them resumed a session. */
  readonly resumed: number;
  /** Handshakes a second. */
  readonly rate: number;
  /** From opening the connection to the end of the handshake, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The share of a processor that this process has used: near 1, the rate is its own. */
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

/** Gives one name after the other, and undefined when it is enough. */
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

/** 0 to `count`, in a random order (Fisher and Yates). */
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
