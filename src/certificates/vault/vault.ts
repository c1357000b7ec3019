/**
 * Envelope encryption of private keys. Each item has its own data key, wrapped by the key
 * encryption key (KEK):
 *
 *   version 1 B │ KEK id 8 B │ wrapped data key: nonce 12 B, 32 B, tag 16 B │ item: nonce 12 B, n B, tag 16 B
 *
 * Both layers are AES-256-GCM (NIST SP 800-38D) with random 96-bit nonces. The first KEK seals; the
 * KEK id selects the one that opens (docs/decisions/0018-key-rotation.md).
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { sealedItem } from '../../core/records.ts';
import { certificateFault } from '../fault.ts';

const { version: VERSION, headerBytes: HEADER_BYTES } = sealedItem;
const KEY_BYTES = 32;
const KEK_ID_BYTES = HEADER_BYTES - 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const WRAPPED_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES;
const SMALLEST_BYTES = HEADER_BYTES + WRAPPED_BYTES + NONCE_BYTES + TAG_BYTES;

/** Every call is synchronous, without I/O. */
export type Vault = {
  /**
   * Uses the first KEK. `boundTo` names the row (`certificate/<id>`); the item cannot be opened for
   * another. Never returns the same bytes twice.
   */
  readonly seal: (plaintext: Uint8Array, boundTo: string) => Uint8Array<ArrayBuffer>;
  /** Throws `vault_key_unknown` or `vault_item_unreadable`. The caller zeroes the result. */
  readonly open: (sealed: Uint8Array, boundTo: string) => Buffer<ArrayBuffer>;
  /** Only needs the first 9 bytes. */
  readonly knows: (sealed: Uint8Array) => boolean;
  /** The prefix of newly sealed items: version and KEK id. */
  readonly header: Uint8Array<ArrayBuffer>;
  /** 32 bytes (HKDF, RFC 5869, 3.2) from the first KEK. Deterministic. */
  readonly derive: (purpose: string) => Buffer;
};

type Key = { readonly bytes: Buffer; readonly header: Buffer<ArrayBuffer> };

/** The first KEK seals, all open. Copies them. Throws a RangeError unless 32 bytes. */
export function createVault(first: Uint8Array, ...others: readonly Uint8Array[]): Vault {
  const current = keyOf(first);
  const keys = [current, ...others.map(keyOf)];
  const keyFor = (sealed: Uint8Array) =>
    keys.find(({ header }) => header.equals(sealed.subarray(0, HEADER_BYTES)));

  return {
    seal(plaintext, boundTo) {
      const dataKey = randomBytes(KEY_BYTES);
      try {
        const bound = additionalData(current.header, boundTo);
        const wrapped = encrypt(current.bytes, dataKey, bound);
        return Buffer.concat([current.header, wrapped, encrypt(dataKey, plaintext, bound)]);
      } finally {
        dataKey.fill(0);
      }
    },

    open(sealed, boundTo) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
      if (bytes.length < SMALLEST_BYTES || bytes[0] !== VERSION) throw unreadable();
      const key = keyFor(bytes) ?? unknownKey();
      const bound = additionalData(key.header, boundTo);
      const dataKey = decrypt(
        key.bytes,
        bytes.subarray(HEADER_BYTES, HEADER_BYTES + WRAPPED_BYTES),
        bound,
      );
      try {
        return decrypt(dataKey, bytes.subarray(HEADER_BYTES + WRAPPED_BYTES), bound);
      } finally {
        dataKey.fill(0);
      }
    },

    knows: (sealed) => keyFor(sealed) !== undefined,
    header: Uint8Array.from(current.header),
    derive: (purpose) => Buffer.from(hkdfSync('sha256', current.bytes, '', purpose, KEY_BYTES)),
  };
}

function keyOf(kek: Uint8Array): Key {
  if (kek.length !== KEY_BYTES) throw new RangeError('the key encryption key must have 32 bytes');
  const bytes = Buffer.from(kek);
  return { bytes, header: Buffer.concat([Buffer.of(VERSION), kekIdOf(bytes)]) };
}

/** A hash prefix of a random key reveals nothing about it. */
function kekIdOf(kek: Buffer): Buffer {
  const digest = createHash('sha256').update('signpost key encryption key').update(kek).digest();
  return digest.subarray(0, KEK_ID_BYTES);
}

function unknownKey(): never {
  throw certificateFault(
    'vault_key_unknown',
    'a stored private key was sealed with another KEY_ENCRYPTION_KEY',
  );
}

function additionalData(header: Buffer, boundTo: string): Buffer {
  return Buffer.concat([header, Buffer.from(boundTo, 'utf8')]);
}

function encrypt(key: Buffer, plaintext: Uint8Array, bound: Buffer): Buffer<ArrayBuffer> {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound);
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]);
}

function decrypt(key: Buffer, sealed: Buffer, bound: Buffer): Buffer<ArrayBuffer> {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tagAt = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(bound).setAuthTag(sealed.subarray(tagAt));
  const unverified = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
  try {
    return Buffer.concat([unverified, decipher.final()]);
  } catch {
    throw unreadable();
  } finally {
    unverified.fill(0);
  }
}

function unreadable() {
  return certificateFault(
    'vault_item_unreadable',
    'a stored private key is damaged or belongs to another row',
  );
}
