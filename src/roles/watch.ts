/** The watch of a worker: what it asks, whose names it has, and how a difference reaches the domain's check. */
import { randomUUID } from 'node:crypto';
import { startWatchDns, type WatchDnsDeps, type WatchingDns } from '../../workers/watch-dns.ts';
import { scaleOf } from '../core/life/ladder.ts';
import { digestOfDelegation } from '../core/watch/watched-name.ts';
import { createShardLeases, SHARDS } from '../db/watch/shard-leases.ts';
import { listenForWatchNotifications } from '../db/watch/watch-notifications.ts';
import { createWatchedNameStore, type WatchedNameStore } from '../db/watch/watched-names.ts';
import { createWatch, type Difference } from '../dns/watch/watch.ts';
import { createWire, type Wire } from '../dns/wire/wire.ts';
import { isWatchOn } from './orders.ts';
import type { Parts } from './parts.ts';

/** Room for the answers of a million names a minute: a turn of the event loop reads some of each socket. Our choice. */
const SOCKETS = 32;
/** A server that is silent is asked once more at the next question: shorter than a check's patience. Our choice. */
const TIMEOUT_MS = 1_000;
/** Of an operator's rate, what one of its addresses is asked at most. Our choice. */
const ADDRESS_SHARE = 0.2;

/** Starts the watch of this process; undefined where none is wanted, or resolvers alone may be asked. */
export function startWatch(parts: Parts): WatchingDns | undefined {
  const { watch } = parts.config;
  if (watch === null || !isWatchOn(parts.config)) return undefined;
  const wire = createWire({ socketsPerFamily: SOCKETS, timeoutMs: TIMEOUT_MS });
  const watching = startWatchDns(watchDeps(parts, wire, watch.perSecond));
  parts.metrics?.watch(watching.watch);
  return {
    watch: watching.watch,
    async close() {
      await watching.close();
      wire.close();
    },
  };
}

function watchDeps(parts: Parts, wire: Wire, perSecond: number): WatchDnsDeps {
  const { config, database, log } = parts;
  const names = createWatchedNameStore(database);
  const stop = new AbortController();
  return {
    createWatch: ({ onDifference, workers }) =>
      createWatch({
        ask: (question, address) => wire.ask(question, { address, port: config.dns.authorityPort }),
        async lookupDelegation(hostname) {
          const delegation = await parts.observer.lookupDelegation(hostname);
          return delegation && digestOfDelegation(delegation);
        },
        onDifference,
        rates: () => ratesOf(perSecond / workers()),
        reachability: parts.reachability,
        scale: scaleOf(config.verifyWindowMs),
        now: Date.now,
        steadyNow: () => performance.now(),
        random: Math.random,
      }),
    ...leasesOf(parts),
    load: (shard) => names.load([shard], stop.signal),
    find: names.find,
    listen: (onChange) =>
      listenForWatchNotifications({
        database,
        log,
        onNotification(notification) {
          if (notification.kind === 'changed') onChange(notification);
          else if (notification.kind === 'listening') onChange(null);
        },
      }),
    bringForward: (differences) => bringForward(parts, names, differences),
    log,
  };
}

function ratesOf(operator: number) {
  return { operator, address: operator * ADDRESS_SHARE };
}

/** Nobody else has names on embedded storage. */
function leasesOf({
  config,
  database,
}: Parts): Pick<WatchDnsDeps, 'renewLeases' | 'releaseLeases'> {
  if (config.storage.kind === 'embedded') {
    const all = { shards: Array.from({ length: SHARDS }, (_, shard) => shard), workers: 1 };
    return { renewLeases: async () => all, releaseLeases: async () => {} };
  }
  const leases = createShardLeases(database, randomUUID());
  return { renewLeases: leases.renew, releaseLeases: leases.release };
}

/** A pending domain has a job; the others are taken by a sweep. What is being saved is left: a check has just run. */
async function bringForward(
  { queues, now }: Parts,
  names: Pick<WatchedNameStore, 'bringForward'>,
  differences: readonly Difference[],
): Promise<void> {
  const pending = differences.filter(({ status }) => status === 'pending');
  const settled = differences.filter(({ status }) => status !== 'pending');
  const promoted = pending.map(({ id, epoch }) =>
    queues.promote('check-dns', { domainId: id, epoch }),
  );
  const ids = settled.map(({ id }) => id);
  await Promise.all([...promoted, ids.length > 0 && names.bringForward(ids, now())]);
}
