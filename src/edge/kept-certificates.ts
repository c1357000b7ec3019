/**
 * Certificates as the database has them, kept for handshakes while it is away: many more fit than contexts of TLS, and
 * their keys stay encrypted. What an id stands for never changes.
 */
import { LRUCache } from 'lru-cache';
import { loadOnce } from './load-once.ts';

type Sealed = { readonly chain: string; readonly sealedKey: Uint8Array };

/** Some 20,000 of Let's Encrypt's, at 3 KiB. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Loads as `load` does, and each id once while it is kept. What is not there is not kept, and asked for again. */
export function keepCertificates(
  load: (certificateId: string) => Promise<Sealed | null>,
): (certificateId: string) => Promise<Sealed | null> {
  const kept = new LRUCache<string, Sealed>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ chain, sealedKey }) => chain.length + sealedKey.byteLength,
  });
  return loadOnce(kept, load);
}
