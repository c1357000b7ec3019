import type { LRUCache } from 'lru-cache';

/** Concurrent calls share one load, including its error. Null is not cached. */
export function loadOnce<Asked, Value extends object>(
  kept: LRUCache<string, Value>,
  load: (asked: Asked) => Promise<Value | null>,
  nameOf: (asked: Asked) => string = String,
): (asked: Asked) => Promise<Value | null> {
  const share = createSingleFlight<Value | null>();
  return async (asked) => {
    const name = nameOf(asked);
    const found = kept.get(name);
    if (found !== undefined) return found;
    return share(name, async () => {
      const value = await load(asked);
      if (value !== null) kept.set(name, value);
      return value;
    });
  };
}

// Shares running work; caches are the callers' own (docs/decisions/0026-shared-mechanisms.md).

/**
 * Calls with the same key share one run, including its error. It starts before the call returns.
 */
type SingleFlight<Value> = (key: string, run: () => Promise<Value>) => Promise<Value>;

export function createSingleFlight<Value>(): SingleFlight<Value> {
  const running = new Map<string, Promise<Value>>();
  return (key, run) => {
    const shared = running.get(key);
    if (shared !== undefined) return shared;
    const started = run().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
