/** Certificates ready for TLS. An id's certificate never changes; which id counts for a name is what its route says. */
import { createSecureContext, type SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { EdgeDeps } from './deps.ts';
import { loadOnce } from './load-once.ts';

/** A context with a P-256 chain takes some 42 KiB (measured, Node 20). */
const KEPT_MAX = 1_000;

/**
 * TLS 1.2 and newer. For 1.2 the suites of RFC 9325, 4.2 that fit our keys, which are all P-256: forward secrecy and
 * authenticated encryption. For the server and its contexts alike.
 */
export const tlsRules = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ].join(':'),
} as const;

/**
 * The context of a certificate, null where it is gone; several handshakes at once load it once. Throws what loading
 * throws. It is to be given to TLS in the turn of the event loop in which it comes. `keptMax`: fewer in tests.
 */
export function createSecureContexts(
  { loadCertificate }: Pick<EdgeDeps, 'loadCertificate'>,
  keptMax: number = KEPT_MAX,
): (certificateId: string) => Promise<SecureContext | null> {
  const kept = new LRUCache<string, SecureContext>({ max: keptMax, dispose: letGo });
  return loadOnce(kept, async (certificateId) => {
    const certificate = await loadCertificate(certificateId);
    if (certificate === null) return null;
    const { chain, key } = certificate;
    try {
      return createSecureContext({ cert: chain, key, ...tlsRules });
    } finally {
      if (typeof key !== 'string') key.fill(0); // OpenSSL has its own
    }
  });
}

/**
 * Frees what OpenSSL holds for a context, as Node does with one of a single connection (lib/_tls_wrap.js). V8 hardly
 * knows its size, and would leave thousands of them, for hundreds of megabytes. Connections that use it hold it on their own;
 * whoever has just been given it comes first.
 */
function letGo({ context }: SecureContext): void {
  setImmediate(() => context.close?.());
}
