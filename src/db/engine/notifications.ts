/**
 * Receives the database's notifications of one channel on a connection of its own, and verifies again and again that they
 * arrive: a beat is sent over another connection, and has to arrive on this one. That detects a connection that is dead
 * without having ended, and a pooler that passes no notifications on. A late beat is no reason to stop listening:
 * notifications of that time would be lost.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { Logger } from 'pino';
import type { Database } from './client.ts';

/** How the payload of a beat begins; no trigger's payload does. */
const BEAT = 'beat ';
/** Three beats fit into edgeLimits.routeFreshMs, so that a single late one makes no route be read again. */
const BEAT_MS = 1_000;
const SILENCE_MS = 5_000;
/** The wait before the next connection; doubled each time, and the least again once a beat has arrived. */
const WAIT_MS_MIN = 250;
const WAIT_MS_MAX = 15_000;

/** What every channel gives beside its own. Times are those of `performance.now()`. */
export type Listening =
  /** From now on every change is notified. Sent again where one may have been missed. */
  | { readonly kind: 'listening'; readonly since: number }
  /** Every change committed before `until` has been notified. Not sent while that is not known. */
  | { readonly kind: 'complete'; readonly until: number };

/** A channel that triggers notify on. */
export type Channel<Notification> = {
  readonly name: string;
  /** What it is about, for the log: notifications of `about` do not arrive. */
  readonly about: string;
  /** Reads a payload of the triggers; null: of a kind that this version does not know. Never throws. */
  readonly parse: (payload: string) => Notification | null;
};

/** `onNotification` must not throw. */
export type NotificationDeps<Notification> = {
  /** `pool` sends the beats; best one that nobody else can use up (edgeConnections). */
  readonly database: Pick<Database, 'pool' | 'openPool'>;
  readonly onNotification: (notification: Notification | Listening) => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** A beat that takes longer is missed; 5 s unless given. Shorter in tests. */
  readonly silenceMs?: number;
};

/**
 * Listens, through every outage, until it is closed; `close` resolves when the connection has ended. Each connection begins
 * with a notification of the kind `listening`, because changes may have been missed before it.
 */
export function listenForNotifications<Notification>(
  channel: Channel<Notification>,
  deps: NotificationDeps<Notification>,
): { close(): Promise<void> } {
  const pool = deps.database.openPool({ max: 1, statementTimeoutMs: 10_000 });
  const stop = new AbortController();
  const ended = keepListening(channel, deps, pool, stop.signal).then(() => pool.end());
  return {
    close() {
      stop.abort();
      return ended;
    },
  };
}

async function keepListening<Notification>(
  channel: Channel<Notification>,
  deps: NotificationDeps<Notification>,
  pool: Pool,
  stop: AbortSignal,
): Promise<void> {
  const { onNotification, log } = deps;
  let isListening = true;
  let waitMs = WAIT_MS_MIN;
  const beats: Beats = {
    back(sentAt) {
      onNotification({ kind: 'complete', until: sentAt });
      waitMs = WAIT_MS_MIN;
      if (!isListening) log.info(`notifications of ${channel.about} arrive again`);
      isListening = true;
    },
    missed(err) {
      if (isListening) log.warn({ err }, `notifications of ${channel.about} do not arrive`);
      isListening = false;
    },
  };
  while (!stop.aborted) {
    await listen(channel, deps, pool, stop, beats).catch(beats.missed);
    await pause(waitMs, stop);
    waitMs = Math.min(WAIT_MS_MAX, 2 * waitMs);
  }
}

type Beats = {
  readonly back: (sentAt: number) => void;
  readonly missed: (fault: unknown) => void;
};

/** Rejects where the connection is lost; resolves once it is to stop. */
async function listen<Notification>(
  { name, parse }: Channel<Notification>,
  { database, onNotification, silenceMs = SILENCE_MS }: NotificationDeps<Notification>,
  pool: Pool,
  stop: AbortSignal,
  beats: Beats,
): Promise<void> {
  const client = await pool.connect();
  const lost = new AbortController();
  const lose = () => lost.abort(new Error('the connection that listens was lost'));
  client.on('error', lose).on('end', lose);
  if (stop.aborted) lose();
  else stop.addEventListener('abort', lose, { signal: lost.signal });
  const heart = createHeart(database.pool, name, silenceMs);
  const startOver = () => onNotification({ kind: 'listening', since: performance.now() });
  client.on('notification', ({ channel, payload = '' }) => {
    if (channel !== name) return; // on embedded storage everybody hears everything
    const notification = parse(payload);
    if (payload.startsWith(BEAT)) heart.arrived(payload);
    else if (notification !== null) onNotification(notification);
    else startOver(); // what a later version tells could be about anything
  });
  try {
    await askToListen(client, name, silenceMs);
    startOver();
    while (!lost.signal.aborted) {
      const sentAt = performance.now();
      try {
        await heart.beat(lost.signal);
        beats.back(sentAt);
      } catch (fault) {
        lost.signal.throwIfAborted();
        beats.missed(fault);
        // The connection that sends beats may have failed instead. Where this one does not answer, it is given up.
        await askToListen(client, name, silenceMs);
        if (heart.isLost()) startOver();
      }
      await pause(BEAT_MS, lost.signal);
    }
    lost.signal.throwIfAborted();
  } catch (fault) {
    if (!stop.aborted) throw fault;
  } finally {
    lose();
    client.release(true);
  }
}

/** Repeating LISTEN changes nothing, unless a pooler has put another connection in the place of the one before. */
async function askToListen(client: PoolClient, channel: string, silenceMs: number): Promise<void> {
  const question: QueryConfig & { readonly query_timeout: number } = {
    text: `LISTEN ${channel}`,
    query_timeout: silenceMs, // pg/lib/client.js reads it here, too; its types do not know
  };
  await client.query(question);
}

/** Notifications arrive in the order of the commits, so a beat that arrived shows that all before it did. */
function createHeart(pool: Pool, channel: string, silenceMs: number) {
  const process = randomUUID();
  let count = 0;
  let last = { payload: '', isCommitted: false, hasArrived: false, arrive: () => {} };
  return {
    arrived(payload: string): void {
      if (payload !== last.payload) return;
      last.hasArrived = true;
      last.arrive();
    },
    /**
     * Whether the last beat is lost for good: it was committed, and had to arrive before the answer to a query that was sent
     * after that. Other notifications may be lost, too.
     */
    isLost: (): boolean => last.isCommitted && !last.hasArrived,
    /** Rejects where it does not come back in time. */
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
      const sent = pool.query('SELECT pg_notify($1, $2)', [channel, beat.payload]).then(() => {
        beat.isCommitted = true;
      });
      const limit = new AbortController();
      const giveUp = () => limit.abort();
      lost.addEventListener('abort', giveUp, { signal: limit.signal });
      const silence = wait(silenceMs, null, { signal: limit.signal }).then(
        () => Promise.reject(new Error(`no notification came back within ${silenceMs} ms`)),
        () => Promise.reject(lost.reason),
      );
      try {
        await Promise.race([Promise.all([sent, back]), silence]);
      } finally {
        silence.catch(() => {});
        giveUp();
      }
    },
  };
}

/** Ends early where the signal does. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, null, { signal }).catch(() => {});
}
