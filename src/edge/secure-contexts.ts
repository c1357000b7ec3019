/** Certificates ready for TLS. Remembering them is safe: an id's certificate never changes, and routes are not kept. */
import { createSecureContext, type SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { EdgeDeps } from './deps.ts';

/** A context with a P-256 chain takes some 42 KiB (measured, Node 20). */
const KEPT_MAX = 1_000;

/** The context of a certificate, null where it is gone; several handshakes at once load it once. Throws what loading throws. */
export function createSecureContexts({
  loadCertificate,
}: Pick<EdgeDeps, 'loadCertificate'>): (certificateId: string) => Promise<SecureContext | null> {
  const cache = new LRUCache<string, SecureContext>({
    max: KEPT_MAX,
    fetchMethod: async (certificateId) => {
      const certificate = await loadCertificate(certificateId);
      if (certificate === null) return undefined; // which is not kept
      const { chain, key } = certificate;
      return createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2' });
    },
  });
  return async (certificateId) => (await cache.fetch(certificateId)) ?? null;
}
