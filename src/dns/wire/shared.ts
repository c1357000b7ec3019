/** Lookups that many share: remembered for a while, and never under way twice for one key. */
import { LRUCache } from 'lru-cache';
import { type Budget, isSpent } from './budget.ts';

/** A value and for how long it may be used, in ms; 0: it is not remembered. `failed`: it says that we could not tell. */
export type Loaded<V> = { readonly value: V; readonly ttlMs: number; readonly failed: boolean };

/** Values by key: at most `max` keys, and some megabytes; the one unused for longest goes first. */
export type Shared<V> = {
  /**
   * Resolves with what is remembered, else with what a `load` under way comes to, else with its own `load`. Waits for
   * others no longer than its own budget lasts. Rejects as `load` does; nothing is remembered then.
   */
  readonly get: (key: string, budget: Budget, load: () => Promise<Loaded<V>>) => Promise<V>;
  /** Returns what is remembered now; undefined where it would have to be loaded. */
  readonly peek: (key: string) => V | undefined;
  /** Remembers a value in place of what was known; one with a `ttlMs` of 0 is ignored. */
  readonly put: (key: string, loaded: Loaded<V>) => void;
  readonly forget: (key: string) => void;
};

/** In characters of JSON: what hostile zones make us remember is bounded, and 10,000 honest zones find room. Our choice. */
const SIZE_MAX = 6_000_000;

/**
 * Returns an empty store. For one key, a lookup begins only while none is under way; failures for want of a budget are
 * not remembered.
 */
export function createShared<V>({ max }: { readonly max: number }): Shared<V> {
  const known = new LRUCache<string, Loaded<V>>({
    max,
    maxSize: SIZE_MAX,
    sizeCalculation: ({ value }, key) => key.length + JSON.stringify(value).length,
  });
  const underWay = new Map<string, Promise<Loaded<V>>>();

  function put(key: string, loaded: Loaded<V>): void {
    if (loaded.ttlMs > 0) known.set(key, loaded, { ttl: loaded.ttlMs });
  }

  async function loadOnceAtATime(key: string, budget: Budget, load: () => Promise<Loaded<V>>) {
    const promise = load();
    underWay.set(key, promise);
    try {
      const loaded = await promise;
      // A failure because this budget ran out says nothing about the name.
      if (!loaded.failed || !isSpent(budget)) put(key, loaded);
      return loaded;
    } finally {
      underWay.delete(key);
    }
  }

  async function get(key: string, budget: Budget, load: () => Promise<Loaded<V>>): Promise<V> {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered.value;
    const others = underWay.get(key);
    if (others === undefined) return (await loadOnceAtATime(key, budget, load)).value;
    // With a budget that is spent `load` ends at once, and says so in its own way.
    const loaded = (await beforeDeadline(others, budget)) ?? (await load());
    // Where the budget of whoever began ran out, ours may still be enough; the failure is not remembered then.
    return !loaded.failed || isSpent(budget) ? loaded.value : get(key, budget, load);
  }

  return {
    get,
    peek: (key) => known.get(key)?.value,
    put,
    forget: (key) => known.delete(key),
  };
}

/** The longest that a timer of Node can be. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What a promise comes to; undefined where that is not before the budget's deadline. */
async function beforeDeadline<T>(promise: Promise<T>, budget: Budget): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    const leftMs = Math.min(Math.ceil(budget.deadline - performance.now()), TIMER_MS_MAX);
    timer = setTimeout(resolve, leftMs, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
