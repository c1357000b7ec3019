/**
 * Runs dist/src/main.js and reports to its parent: memory after a collection, open connections,
 * machine stalls and long event loop turns. Needs --expose-gc and an IPC channel.
 */
import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { destination, pino } from 'pino';
import { loadConfig } from '../../dist/src/config/config.js';
import { startSignpost } from '../../dist/src/start.js';

const BEAT_MS = 50;
const LATE_MS = 100; // anything shorter is not a stall
/**
 * Limit of CPU time for one event loop turn, in parses of the largest body. A busy machine changes
 * neither.
 */
const READINGS = 1_000;
const QUIET_MS = 30_000; // longer than the service lingers on a connection, even on a busy machine

const events = new EventEmitter().setMaxListeners(0); // every connection of a run may wait at once
const connections = new Set();
subscribe('net.server.socket', ({ socket }) => {
  connections.add(socket);
  socket.once('close', () => {
    connections.delete(socket);
    if (connections.size === 0) events.emit('quiet');
  });
});

const { ok, config, problems } = loadConfig(process.env);
if (!ok) throw new Error(JSON.stringify(problems));
const log = pino({ level: config.logLevel }, destination(2));
const signpost = await startSignpost(config, log);

const mostMs = readingMs();
let stopping = false;
process.on('message', async (question) => {
  if (question === 'memory') process.send({ memory: await measure() });
  if (question === 'settled') events.once('beat', () => process.send({ settled: true }));
  if (question === 'block') {
    block();
    events.once('turn', () => process.send({ block: true }));
  }
  if (question === 'stop') {
    stopping = true;
    await signpost.close(5_000);
    process.disconnect();
  }
});
process.send({ address: signpost.addresses.http });
void beat(signpost.service.database.openPool({ max: 1, statementTimeoutMs: 0 }));

/** After all connections closed and two collections: the second frees what the first finalized. */
async function measure() {
  if (connections.size > 0) {
    await once(events, 'quiet', { signal: AbortSignal.timeout(QUIET_MS) }).catch(() => {});
  }
  for (let round = 0; round < 2; round += 1) {
    await setImmediate();
    globalThis.gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return { heapUsed, external, connections: connections.size };
}

/** CPU time of this process, in ms. */
function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** CPU time of that many parses of the largest body. */
function readingMs() {
  const text = JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ name: 'Rex', id: n })));
  const before = cpuMs();
  for (let n = 0; n < READINGS / 20; n += 1) JSON.parse(text);
  return (cpuMs() - before) * 20;
}

function inWords(tookMs) {
  return `a turn of ${tookMs} ms, where ${READINGS} large texts take ${Math.round(mostMs)} ms`;
}

/** Blocks for longer than any request may take. */
function block() {
  const until = cpuMs() + 2 * mostMs;
  while (cpuMs() < until);
}

/** Repeats database writes on a separate connection: late if machine or process stall. */
async function beat(pool) {
  let worked = cpuMs();
  // Only one turn, or the work of a few, fits between two of these.
  setInterval(() => {
    const now = cpuMs();
    const took = Math.round(now - worked);
    worked = now;
    if (took > mostMs) process.send({ turn: inWords(took) });
    events.emit('turn');
  }, BEAT_MS).unref();
  for (;;) {
    const due = Date.now() + BEAT_MS;
    await setTimeout(BEAT_MS);
    if (stopping) return;
    await pool.query('SELECT pg_current_xact_id()');
    const now = Date.now();
    if (now - due > LATE_MS) process.send({ stall: { from: due, to: now } });
    events.emit('beat');
  }
}
