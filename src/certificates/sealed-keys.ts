/** Private keys in and out of the vault; the bytes between are zeroed. */
import type { KeyObject } from 'node:crypto';
import { privateKeyFromPem, privateKeyToPem } from './keys.ts';
import type { Vault } from './vault.ts';

/** For the row that `boundTo` names (Vault.seal). */
export function sealKey(vault: Vault, key: KeyObject, boundTo: string): Uint8Array<ArrayBuffer> {
  const pem = Buffer.from(privateKeyToPem(key));
  try {
    return vault.seal(pem, boundTo);
  } finally {
    pem.fill(0);
  }
}

/** Throws the vault's faults. */
export function openKey(vault: Vault, sealed: Uint8Array, boundTo: string): KeyObject {
  const pem = vault.open(sealed, boundTo);
  try {
    return privateKeyFromPem(pem);
  } finally {
    pem.fill(0);
  }
}

/** What a certificate's key is bound to in the vault. */
export function sealOf(certificateId: string): string {
  return `certificate/${certificateId}`;
}
