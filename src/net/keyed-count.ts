/** Counts what is under way for each key and altogether: connections of an address, requests to a project, streams of an API key. */

/** How many may be under way at once. */
export type KeyedLimits = {
  /** Of all keys together. */
  readonly total: number;
  /** Of one key, unless `admit` is given another number. */
  readonly perKey: number;
};

/** What is under way now. */
export type KeyedCount = {
  /**
   * Counts one in and returns what counts it out again, once however often it is called; else which limit is reached, the
   * key's own before the total. Never waits.
   */
  admit(key: string, perKey?: number): (() => void) | 'key' | 'total';
  /** How much of a key is under way. */
  of(key: string): number;
};

/** A count of this process alone. A key of which nothing is under way takes no memory. */
export function createKeyedCount(limits: KeyedLimits): KeyedCount {
  const underWay = new Map<string, number>();
  let all = 0;

  function leave(key: string): void {
    all -= 1;
    const left = (underWay.get(key) ?? 1) - 1;
    if (left === 0) underWay.delete(key);
    else underWay.set(key, left);
  }

  return {
    of: (key) => underWay.get(key) ?? 0,
    admit(key, perKey = limits.perKey) {
      const before = underWay.get(key) ?? 0;
      if (before >= perKey) return 'key';
      if (all >= limits.total) return 'total';
      all += 1;
      underWay.set(key, before + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        leave(key);
      };
    },
  };
}
