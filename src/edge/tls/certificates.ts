/** Certificates with their keys, decrypted at each load. An ID's content never changes. */
import { LRUCache } from 'lru-cache';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import { sealOf } from '../../certificates/vault/keys.ts';
import { loadOnce } from '../../net/load-once.ts';
import type { EdgeService } from '../edge-service.ts';

/** Null: it does not exist (anymore). */
export type LoadCertificate = (certificateId: string) => Promise<EdgeCertificate | null>;

type Sealed = { readonly chain: string; readonly sealedKey: Uint8Array };

/** About 20,000 Let's Encrypt certificates of 3 KiB. */
const BYTES_MAX = 64 * 1024 * 1024;

export function createLoadCertificate({
  lookups,
  vault,
}: Pick<EdgeService, 'lookups' | 'vault'>): LoadCertificate {
  const loadSealed = keepCertificates(lookups.loadCertificate);
  return async (id) => {
    const stored = await loadSealed(id);
    if (stored === null) return null;
    return { chain: stored.chain, key: vault.open(stored.sealedKey, sealOf(id)) };
  };
}

/** By ID. Missing certificates are not cached. */
export function keepCertificates(
  load: (certificateId: string) => Promise<Sealed | null>,
): (certificateId: string) => Promise<Sealed | null> {
  const kept = new LRUCache<string, Sealed>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ chain, sealedKey }) => chain.length + sealedKey.byteLength,
  });
  return loadOnce(kept, load);
}
