/** How many event streams are open. */
import type { Access } from '../../core/access.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';

/** Open at once, per process and per key. An account has its own limit. */
export type StreamLimits = { readonly total: number; readonly perKey: number };

/** Half of the server's connections (src/net/connections.ts); two pages for each of ten users. */
export const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

export type StreamSlots = {
  /** Names the limit that is reached. `release` is idempotent. */
  take(
    keyId: string,
    access: Access,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full'; readonly limit: number }
    | { readonly kind: 'account_full'; readonly limit: number }
    | { readonly kind: 'process_full' };
};

/** Per process. */
export function createStreamSlots({ total, perKey }: StreamLimits): StreamSlots {
  const ofKeys = createKeyedCount({ total, perKey });
  const ofAccounts = createKeyedCount({ total, perKey: total });
  return {
    take(keyId, access) {
      const [owner, most] =
        access.kind === 'account' ? [access.accountId, access.limits.streams] : ['', null];
      const releaseAccount = ofAccounts.admit(owner, most ?? total);
      if (releaseAccount === 'key' && most !== null) return { kind: 'account_full', limit: most };
      if (typeof releaseAccount !== 'function') return { kind: 'process_full' };
      const releaseKey = ofKeys.admit(keyId);
      if (typeof releaseKey === 'function') {
        return { kind: 'taken', release: () => [releaseKey, releaseAccount].map((one) => one()) };
      }
      releaseAccount();
      return releaseKey === 'key' ? { kind: 'key_full', limit: perKey } : { kind: 'process_full' };
    },
  };
}
