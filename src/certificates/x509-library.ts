/** @peculiar/x509, which writes our certificates and requests. What is there already, node:crypto reads (x509.ts). */
import { webcrypto } from 'node:crypto';

/**
 * The library over Node's own WebCrypto, loaded at the first need: that takes some 150 ms, which neither a start nor a
 * process that makes no certificate has to wait for. Further calls cost nothing.
 */
export async function loadX509() {
  await import('reflect-metadata'); // first: tsyringe, below the library, does not load without it
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

export type X509Library = Awaited<ReturnType<typeof loadX509>>;
