/** Signing secrets: made here, shown once, and at rest readable by the vault alone. */
import { randomBytes } from 'node:crypto';
import type { Vault } from '../certificates/vault.ts';

/** Standard Webhooks wants 24 to 64 bytes; as many as HMAC-SHA256 gives out are enough (RFC 2104, 3). */
const SECRET_BYTES = 32;

export type MintedSecret = {
  /** `whsec_` and base64, as receivers' libraries take it. Show it once, store it nowhere. */
  readonly secret: string;
  /** For the row of this webhook, and no other. */
  readonly sealed: Uint8Array<ArrayBuffer>;
};

/** A new secret for a webhook. */
export function mintSecret(vault: Vault, webhookId: string): MintedSecret {
  const bytes = randomBytes(SECRET_BYTES);
  return {
    secret: `whsec_${bytes.toString('base64')}`,
    sealed: vault.seal(bytes, sealOf(webhookId)),
  };
}

/** The bytes that sign; throws the vault's faults. */
export function openSecret(vault: Vault, webhookId: string, sealed: Uint8Array): Uint8Array {
  return vault.open(sealed, sealOf(webhookId));
}

/** The old secret stays readable when a rotation moves it to another column of its row. */
function sealOf(webhookId: string): string {
  return `webhook/${webhookId}`;
}
