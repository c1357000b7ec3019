/** Private keys: P-256, PKCS#8. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  webcrypto,
} from 'node:crypto';
import type { Vault } from './vault.ts';

const P256 = { name: 'ECDSA', namedCurve: 'P-256' };

/** WebCrypto's algorithm for our keys (RFC 5758, 3.2). */
export const ECDSA_SHA256 = { name: 'ECDSA', hash: 'SHA-256' };

export function generatePrivateKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** PKCS#8, as the vault seals it and TLS reads it. */
export function privateKeyToPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Throws node:crypto's errors. Does not zero `pem`. */
function privateKeyFromPem(pem: string | Uint8Array): KeyObject {
  return createPrivateKey(
    typeof pem === 'string' ? pem : Buffer.from(pem.buffer, pem.byteOffset, pem.length),
  );
}

/** DER (RFC 5280, 4.1.2.7). */
export function publicKeyInfo(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** Only the public key is extractable. Goes through DER, the only way in Node 20. */
export async function toCryptoKeys(key: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const { subtle } = webcrypto;
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  try {
    const [privateKey, publicKey] = await Promise.all([
      subtle.importKey('pkcs8', pkcs8, P256, false, ['sign']),
      subtle.importKey('spki', publicKeyInfo(key), P256, true, ['verify']),
    ]);
    return { privateKey, publicKey };
  } finally {
    pkcs8.fill(0);
  }
}

/** For the row named by `boundTo` (`Vault.seal`). */
export function sealKey(vault: Vault, key: KeyObject, boundTo: string): Uint8Array<ArrayBuffer> {
  const pem = Buffer.from(privateKeyToPem(key));
  try {
    return vault.seal(pem, boundTo);
  } finally {
    pem.fill(0);
  }
}

export function openKey(vault: Vault, sealed: Uint8Array, boundTo: string): KeyObject {
  const pem = vault.open(sealed, boundTo);
  try {
    return privateKeyFromPem(pem);
  } finally {
    pem.fill(0);
  }
}

/** The `boundTo` of a certificate's key. */
export function sealOf(certificateId: string): string {
  return `certificate/${certificateId}`;
}
