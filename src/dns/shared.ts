/** Look-ups that many share: remembered for a while, and never under way twice for one key. */
import { LRUCache } from 'lru-cache';
import { type Budget, isSpent } from './budget.ts';

/** A value and how long it may be used. `failed`: it says that we could not tell. */
export type Looked<V> = { readonly value: V; readonly ttlMs: number; readonly failed: boolean };

/** At most `max` keys; the one unused for longest goes first. */
export type Shared<V> = {
  readonly get: (key: string, budget: Budget, look: () => Promise<Looked<V>>) => Promise<V>;
  /** What is remembered now. */
  readonly peek: (key: string) => V | undefined;
  readonly put: (key: string, looked: Looked<V>) => void;
  readonly forget: (key: string) => void;
};

/** `get` waits for a look-up of the same key that is under way, and begins one only where there is none. */
export function createShared<V>({ max }: { readonly max: number }): Shared<V> {
  const known = new LRUCache<string, Looked<V>>({ max });
  const underWay = new Map<string, Promise<Looked<V>>>();

  function put(key: string, looked: Looked<V>): void {
    if (looked.ttlMs > 0) known.set(key, looked, { ttl: looked.ttlMs });
  }

  async function lookOnce(key: string, budget: Budget, look: () => Promise<Looked<V>>) {
    const promise = look();
    underWay.set(key, promise);
    try {
      const looked = await promise;
      // A failure because this budget ran out says nothing about the name.
      if (!looked.failed || !isSpent(budget)) put(key, looked);
      return looked;
    } finally {
      underWay.delete(key);
    }
  }

  return {
    async get(key, budget, look) {
      for (;;) {
        const remembered = known.get(key);
        if (remembered !== undefined) return remembered.value;
        const others = underWay.get(key);
        if (others === undefined) return (await lookOnce(key, budget, look)).value;
        const looked = await others;
        // Where the budget of whoever began ran out, ours may still be enough; the failure is not remembered then.
        if (!looked.failed || isSpent(budget) || known.has(key)) return looked.value;
      }
    },
    peek: (key) => known.get(key)?.value,
    put,
    forget: (key) => known.delete(key),
  };
}
