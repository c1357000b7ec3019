/**
 * Receives route notifications on a dedicated connection. A heartbeat sent over another connection
 * must arrive on this one: that detects a dead connection, and a pooler that drops notifications. A
 * late heartbeat does not end listening, since that would lose notifications.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { Logger } from 'pino';
import {
  parseRouteNotification,
  type RouteNotification,
} from '../../core/operations/edge-route.ts';
import { beforeAbort, beforeDeadline } from '../../net/deadline.ts';
import type { Database } from '../engine/client.ts';

/** The triggers notify on this channel. */
const CHANNEL = 'signpost_edge';
/** No trigger uses this prefix. */
const BEAT = 'beat ';
/** Three heartbeats fit into edgeLimits.routeFreshMs, so a single late one causes no re-reads. */
const HEARTBEAT_MS = 1_000;
const SILENCE_MS = 5_000;
/** Doubles each time, resets after a heartbeat. */
const RECONNECT_MS_MIN = 250;
const RECONNECT_MS_MAX = 15_000;

/** `onNotification` must not throw. */
export type RouteNotificationDeps = {
  /** `pool` sends the heartbeats; others should not be able to exhaust it (edgeConnections). */
  readonly database: Pick<Database, 'pool' | 'openPool'>;
  /** Times are those of `performance.now()`. */
  readonly onNotification: (notification: RouteNotification) => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly silenceMs?: number;
};

/** Listens across outages. Each connection starts with `listening`: changes can be missed. */
export function listenForRouteNotifications(deps: RouteNotificationDeps): {
  close(): Promise<void>;
} {
  const pool = deps.database.openPool({ max: 1, statementTimeoutMs: 10_000 });
  const stop = new AbortController();
  const ended = keepListening(deps, pool, stop.signal).then(() => pool.end());
  return {
    close() {
      stop.abort();
      return ended;
    },
  };
}

async function keepListening(
  deps: RouteNotificationDeps,
  pool: Pool,
  stop: AbortSignal,
): Promise<void> {
  const { onNotification, log } = deps;
  let isListening = true;
  let waitMs = RECONNECT_MS_MIN;
  const beats: Beats = {
    back(sentAt) {
      onNotification({ kind: 'complete', until: sentAt });
      waitMs = RECONNECT_MS_MIN;
      if (!isListening) log.info('receiving route notifications again');
      isListening = true;
    },
    missed(err) {
      if (isListening) log.warn({ err }, 'not receiving route notifications');
      isListening = false;
    },
  };
  while (!stop.aborted) {
    await listen(deps, pool, stop, beats).catch(beats.missed);
    await pause(waitMs, stop);
    waitMs = Math.min(RECONNECT_MS_MAX, 2 * waitMs);
  }
}

type Beats = {
  readonly back: (sentAt: number) => void;
  readonly missed: (fault: unknown) => void;
};

/** Rejects if the connection is lost; resolves when stopped. */
async function listen(
  { database, onNotification, silenceMs = SILENCE_MS }: RouteNotificationDeps,
  pool: Pool,
  stop: AbortSignal,
  beats: Beats,
): Promise<void> {
  const client = await pool.connect();
  const lost = new AbortController();
  const lose = (cause?: Error) =>
    lost.abort(new Error('the listening connection was lost', { cause }));
  client.on('error', lose).on('end', () => lose());
  if (stop.aborted) lose();
  else stop.addEventListener('abort', () => lose(), { signal: lost.signal });
  const heart = createHeart(database.pool, silenceMs);
  const startOver = () => onNotification({ kind: 'listening', since: performance.now() });
  client.on('notification', ({ channel, payload = '' }) => {
    if (channel !== CHANNEL) return; // embedded storage delivers every channel
    const notification = parseRouteNotification(payload);
    if (payload.startsWith(BEAT)) heart.arrived(payload);
    else if (notification !== null) onNotification(notification);
    else startOver(); // a later version's notification could concern anything
  });
  try {
    await askToListen(client, silenceMs);
    startOver();
    while (!lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        await heart.beat(lost.signal);
        beats.back(sentAt);
      } catch (fault) {
        lost.signal.throwIfAborted();
        beats.missed(fault);
        // The sending connection can have failed instead. If this one does not answer either, it is
        // closed.
        await askToListen(client, silenceMs);
        if (heart.isLost()) startOver();
      }
      await pause(HEARTBEAT_MS, lost.signal);
    }
    lost.signal.throwIfAborted();
  } catch (fault) {
    if (!stop.aborted) throw fault;
  } finally {
    lose();
    client.release(true);
  }
}

/** Repeating LISTEN has no effect unless a pooler replaced the connection. */
async function askToListen(client: PoolClient, silenceMs: number): Promise<void> {
  const question: QueryConfig & { readonly query_timeout: number } = {
    text: `LISTEN ${CHANNEL}`,
    query_timeout: silenceMs, // pg/lib/client.js supports it here; its types don't
  };
  await client.query(question);
}

/** Notifications arrive in commit order, so a heartbeat proves that all earlier ones arrived. */
function createHeart(pool: Pool, silenceMs: number) {
  const process = randomUUID();
  let count = 0;
  let last = { payload: '', isCommitted: false, hasArrived: false, arrive: () => {} };
  return {
    arrived(payload: string): void {
      if (payload !== last.payload) return;
      last.hasArrived = true;
      last.arrive();
    },
    /** It was committed and did not arrive, so other notifications can be lost, too. */
    isLost: (): boolean => last.isCommitted && !last.hasArrived,
    async beat(lost: AbortSignal): Promise<void> {
      count += 1;
      const beat = {
        payload: `${BEAT}${process}.${count}`,
        isCommitted: false,
        hasArrived: false,
        arrive: () => {},
      };
      last = beat;
      const back = new Promise<void>((resolve) => {
        beat.arrive = resolve;
      });
      const sent = pool.query('SELECT pg_notify($1, $2)', [CHANNEL, beat.payload]).then(() => {
        beat.isCommitted = true;
      });
      const both = Promise.all([sent, back]).then(() => 'back' as const);
      const result = await beforeAbort(lost, beforeDeadline(silenceMs, both, 'silent'), 'lost');
      if (result === 'silent') throw new Error(`no notification came back within ${silenceMs} ms`);
      if (result === 'lost') throw lost.reason;
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, null, { signal }).catch(() => {});
}
