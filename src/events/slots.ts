/** How many streams may be open at once in one process, altogether and with one key. */

export type StreamLimits = { readonly total: number; readonly perKey: number };

/**
 * Our choice: half of the connections that the server takes (src/net/connections.ts), so that streams never keep
 * requests out; `perKey` is a page or two open with each of ten people.
 */
export const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

export type Slots = {
  /** Counts a stream in. `release` counts it out again, once, however often it is called. */
  take(
    keyId: string,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full' }
    | { readonly kind: 'process_full' };
};

export function createSlots({ total, perKey }: StreamLimits): Slots {
  const byKey = new Map<string, number>();
  let all = 0;
  return {
    take(keyId) {
      const before = byKey.get(keyId) ?? 0;
      if (before >= perKey) return { kind: 'key_full' };
      if (all >= total) return { kind: 'process_full' };
      byKey.set(keyId, before + 1);
      all += 1;
      let isReleased = false;
      return {
        kind: 'taken',
        release() {
          if (isReleased) return;
          isReleased = true;
          all -= 1;
          const left = (byKey.get(keyId) ?? 1) - 1;
          if (left === 0) byKey.delete(keyId);
          else byKey.set(keyId, left);
        },
      };
    },
  };
}
