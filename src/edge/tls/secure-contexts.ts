/** Certificates ready for TLS. An id's certificate never changes; which id counts for a name is what its route says. */
import { createSecureContext, type SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { EdgeDeps } from '../deps.ts';

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

/**
 * The value of an id: from `kept`, from a load that is under way, or loaded now. Loads under way have no place among what
 * is kept, so that however many there are, none drives out another. What is not there (null) is not kept, and what
 * `load` throws is thrown to everybody who waits.
 */
export function loadOnce<Value extends object>(
  kept: LRUCache<string, Value>,
  load: (id: string) => Promise<Value | null>,
): (id: string) => Promise<Value | null> {
  const underWay = new Map<string, Promise<Value | null>>();

  async function loadAndKeep(id: string): Promise<Value | null> {
    const value = await load(id);
    if (value !== null) kept.set(id, value);
    return value;
  }

  return async (id) => {
    const found = kept.get(id) ?? underWay.get(id);
    if (found !== undefined) return found;
    const loading = loadAndKeep(id).finally(() => underWay.delete(id));
    underWay.set(id, loading);
    return loading;
  };
}
