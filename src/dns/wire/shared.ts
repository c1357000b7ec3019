/** A cache with single flight: concurrent lookups of one key share one load. */

import { LRUCache } from 'lru-cache';
import { beforeDeadline } from '../../net/deadline.ts';
import { createSingleFlight } from '../../net/load-once.ts';
import { isSpent, type QueryBudget } from './budget.ts';

/** `ttlMs` 0: not cached. `failed`: the value is a failure. */
export type Loaded<V> = { readonly value: V; readonly ttlMs: number; readonly failed: boolean };

/** At most `max` keys and a few megabytes. */
export type Shared<V> = {
  /**
   * Waits for others only as long as its own budget lasts. If `load` rejects, nothing is cached.
   */
  readonly get: (key: string, budget: QueryBudget, load: () => Promise<Loaded<V>>) => Promise<V>;
  readonly peek: (key: string) => V | undefined;
  /** A `ttlMs` of 0 is ignored. */
  readonly put: (key: string, loaded: Loaded<V>) => void;
  readonly forget: (key: string) => void;
};

/** In characters of JSON: bounds memory under hostile zones. */
const SIZE_MAX = 6_000_000;

/** One load per key runs at a time. Failures caused by an exhausted budget are not cached. */
export function createShared<V>({ max }: { readonly max: number }): Shared<V> {
  const known = new LRUCache<string, Loaded<V>>({
    max,
    maxSize: SIZE_MAX,
    sizeCalculation: ({ value }, key) => key.length + JSON.stringify(value).length,
  });
  const share = createSingleFlight<Loaded<V>>();

  function put(key: string, loaded: Loaded<V>): void {
    if (loaded.ttlMs > 0) known.set(key, loaded, { ttl: loaded.ttlMs });
  }

  async function loadAndKeep(key: string, budget: QueryBudget, load: () => Promise<Loaded<V>>) {
    const loaded = await load();
    // A failure caused by an exhausted budget says nothing about the name.
    if (!loaded.failed || !isSpent(budget)) put(key, loaded);
    return loaded;
  }

  async function get(key: string, budget: QueryBudget, load: () => Promise<Loaded<V>>): Promise<V> {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered.value;
    let isOwn = false;
    const loading = share(key, () => {
      isOwn = true;
      return loadAndKeep(key, budget, load);
    });
    if (isOwn) return (await loading).value;
    // With an exhausted budget, `load` ends at once with its own failure.
    const loaded = (await beforeDeadline(leftMs(budget), loading, undefined)) ?? (await load());
    // If the first caller's budget ran out, ours can still suffice; that failure is not cached.
    return !loaded.failed || isSpent(budget) ? loaded.value : get(key, budget, load);
  }

  return {
    get,
    peek: (key) => known.get(key)?.value,
    put,
    forget: (key) => known.delete(key),
  };
}

function leftMs({ deadline }: QueryBudget): number {
  return Math.ceil(deadline - performance.now());
}
