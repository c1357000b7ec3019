/** What is loaded once while it is kept. */
import type { LRUCache } from 'lru-cache';

/**
 * The value of an id: from `kept`, from a load that is under way, or loaded now. Loads under way have no place among what
 * is kept, so that however many there are, none drives out another. What is not there (null) is not kept, and what
 * `load` throws is thrown to everybody who waits.
 */
export function loadOnce<Value extends object>(
  kept: LRUCache<string, Value>,
  load: (id: string) => Promise<Value | null>,
): (id: string) => Promise<Value | null> {
  const underWay = new Map<string, Promise<Value | null>>();

  async function loadAndKeep(id: string): Promise<Value | null> {
    const value = await load(id);
    if (value !== null) kept.set(id, value);
    return value;
  }

  return async (id) => {
    const found = kept.get(id) ?? underWay.get(id);
    if (found !== undefined) return found;
    const loading = loadAndKeep(id).finally(() => underWay.delete(id));
    underWay.set(id, loading);
    return loading;
  };
}
