/** How many event streams are open. */
import { createKeyedCount } from '../../net/keyed-count.ts';

/** Open at once, per process and per key. */
export type StreamLimits = { readonly total: number; readonly perKey: number };

/** Half of the server's connections (src/net/connections.ts); two pages for each of ten users. */
export const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

export type StreamSlots = {
  /** Names the limit that is reached. `release` is idempotent. */
  take(
    keyId: string,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full'; readonly limit: number }
    | { readonly kind: 'process_full' };
};

/** Per process. */
export function createStreamSlots({ total, perKey }: StreamLimits): StreamSlots {
  const streams = createKeyedCount({ total, perKey });
  return {
    take(keyId) {
      const admitted = streams.admit(keyId);
      if (admitted === 'key') return { kind: 'key_full', limit: perKey };
      if (admitted === 'total') return { kind: 'process_full' };
      return { kind: 'taken', release: admitted };
    },
  };
}
