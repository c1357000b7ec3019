import type { LRUCache } from 'lru-cache';
import { createSingleFlight } from './single-flight.ts';

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
