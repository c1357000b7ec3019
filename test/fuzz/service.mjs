/**
 * The service as dist/src/main.js starts it, in a process that tells its parent what it is told not to tell others: its memory after
 * a collection, its open connections, and when the machine stood still. Needs --expose-gc and an IPC channel.
 */
import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { destination, pino } from 'pino';
import { loadConfig } from '../../dist/src/config.js';
import { startSignpost } from '../../dist/src/start.js';

const BEAT_MS = 50;
const LATE_MS = 100; // what is quicker is no stall
const QUIET_MS = 30_000; // longer than the service lingers on a connection, on a busy machine too

const events = new EventEmitter().setMaxListeners(0); // every connection of a run may ask at once
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

let stopping = false;
process.on('message', async (question) => {
  if (question === 'memory') process.send({ memory: await measure() });
  if (question === 'settled') events.once('beat', () => process.send({ settled: true }));
  if (question === 'stop') {
    stopping = true;
    await signpost.close(5_000);
    process.disconnect();
  }
});
process.send({ address: signpost.addresses.http });
void beat(signpost.parts.database.openPool({ max: 1, statementTimeoutMs: 0 }));

/** Once all connections are closed, and after two collections: what the first one finalizes, the second one frees. */
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

/** A write to the database over a connection of its own, again and again: late where the machine or this process is. */
async function beat(pool) {
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
