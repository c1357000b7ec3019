/**
 * Asks one question about each pending, live and drifted name once a minute or so, and brings its check forward where the
 * answer is another than the last check saw. The workers of an installation share the names (docs/decisions/0031).
 * Woken by: a timer. Reads: the names and what their checks saw; the DNS. Writes: which shards are whose; when jobs run.
 * A difference decides nothing: the check does.
 */
import type { Logger } from 'pino';
import type { Difference, Watch } from '../src/dns/watch/watch.ts';
import { startTimer } from './running/guards.ts';
import { createShards, type ShardsDeps } from './watching/shards.ts';

/** What the watch needs of the process that it runs in. */
export type WatchDnsDeps = Omit<ShardsDeps, 'watch' | 'onFault'> & {
  /** Makes the watch; `workers`: how many processes share the names. */
  createWatch(given: {
    readonly onDifference: (name: Difference) => void;
    readonly workers: () => number;
  }): Watch;
  /** Extends the leases of this process's shards; `workers`: all that are alive, this one included. */
  renewLeases(lease: {
    readonly leaseMs: number;
  }): Promise<{ readonly shards: readonly number[]; readonly workers: number }>;
  releaseLeases(): Promise<void>;
  /** Calls with each change of a name, and with null where changes may have been missed. */
  listen(onChange: (change: NameChange | null) => void): { close(): Promise<void> };
  /** Runs the next checks of these domains now. */
  bringForward(names: readonly Difference[]): Promise<void>;
  readonly log: Logger;
};

/** A watched name that has changed, has come or has gone. */
export type NameChange = { readonly shard: number; readonly id: string };

/** The watch of a process. */
export type WatchingDns = {
  readonly watch: Watch;
  /** Asks nothing from now on, and gives its shards to the others. */
  close(): Promise<void>;
};

const TICK_MS = 20;
/** A killed worker's names are watched by others after a lease and a heartbeat at most. Our choice. */
const LEASE_MS = 12_000;
const HEARTBEAT_MS = 4_000;
/** Before another process may begin with our shards, whatever our clock's drift, we have ended. */
const MARGIN_MS = 1_000;
/** All shards of a process are read again within about an hour. Our choice. */
const READ_AGAIN_MS = 15_000;
/**
 * Behind a pooler that passes no notification on, some may always be missing: that is no reason to read everything again and
 * again. What is missed meanwhile, the turn of each shard brings. Our choice.
 */
const READ_ALL_MS = 10 * 60_000;
/** Differences that are seen together are brought forward together. Our choice. */
const GATHER_MS = 50;

/** Begins to watch. Outages of the database are waited for. */
export function startWatchDns(deps: WatchDnsDeps): WatchingDns {
  const { log } = deps;
  let workers = 1;
  let leasedUntil = 0;
  let different: Difference[] = [];
  const watch = deps.createWatch({ onDifference: gather, workers: () => workers });
  const onFault = (err: unknown) => log.warn({ err }, 'watched names could not be read');
  const shards = createShards({ ...deps, watch, onFault });
  const heartbeat = startTimer('leases of watched names', HEARTBEAT_MS, renew, log);
  const readAgain = startTimer('watched names', READ_AGAIN_MS, shards.readOldest, log);
  const ticking = setInterval(tick, TICK_MS);
  const readAll = atMostEvery(READ_ALL_MS, () => void shards.readAll());
  const listener = deps.listen((change) => {
    if (change === null) readAll();
    else shards.changed(change.shard, change.id);
  });

  async function renew(): Promise<void> {
    const began = performance.now();
    const share = await deps.renewLeases({ leaseMs: LEASE_MS });
    workers = share.workers;
    leasedUntil = began + LEASE_MS - MARGIN_MS;
    void shards.own(share.shards);
  }

  function tick(): void {
    if (performance.now() < leasedUntil) watch.tick();
    else if (watch.size() > 0) void shards.own([]);
  }

  function gather(name: Difference): void {
    different.push(name);
    if (different.length === 1) setTimeout(bringForward, GATHER_MS);
  }

  function bringForward(): void {
    const names = different;
    different = [];
    // The watch says it again while no check has seen it.
    deps
      .bringForward(names)
      .catch((err) => log.warn({ err }, 'checks of changed names are not brought forward'));
  }

  return {
    watch,
    async close() {
      clearInterval(ticking);
      await Promise.all([heartbeat.stop(), readAgain.stop(), listener.close()]);
      await shards.own([]);
      await deps
        .releaseLeases()
        .catch((err) => log.warn({ err }, 'shards of watched names end with their leases'));
    },
  };
}

/** Runs a task when it is called, unless it ran within the last `ms`. */
function atMostEvery(ms: number, task: () => void): () => void {
  let ranAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() < ranAt + ms) return;
    ranAt = performance.now();
    task();
  };
}
