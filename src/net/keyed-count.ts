/** Concurrent uses per key and in total, in this process. */

/** Maximum concurrent uses. */
export type KeyedLimits = {
  readonly total: number;
  /** Unless `admit` gets another number. */
  readonly perKey: number;
};

export type KeyedCount = {
  /** The release function (idempotent), or the limit that is reached. Never waits. */
  admit(key: string, perKey?: number): (() => void) | 'key' | 'total';
};

/** A key without uses takes no memory. */
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
