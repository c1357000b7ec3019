/**
 * Private keys at rest. Each item has a data key of its own, which the key encryption key (KEK) wraps:
 *
 *   version 1 B │ KEK id 8 B │ wrapped data key: nonce 12 B, 32 B, tag 16 B │ item: nonce 12 B, n B, tag 16 B
 *
 * Both layers are AES-256-GCM (NIST SP 800-38D) over random 96-bit nonces. The KEK id tells which of several keys to
 * take: the first one seals, all of them open (docs/decisions/0018-key-rotation.md).
 *
 * Each KEK has an edge key below it, which is derived from it (HKDF, RFC 5869) and is a KEK itself: what edges open is sealed with
 * that one, so that an edge is given nothing by which the rest could be opened.
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

/** Seals and opens secrets. Every call is synchronous and touches no storage. */
export type Vault = {
  /**
   * Encrypts with the first KEK. `boundTo` names the row (`certificate/<id>`), so that the item opens nowhere else. Two
   * calls never give the same bytes.
   */
  readonly seal: (plaintext: Uint8Array, boundTo: string) => Uint8Array<ArrayBuffer>;
  /** Decrypts; throws `vault_key_unknown` or `vault_item_unreadable`. The caller zeroes the result once it is used. */
  readonly open: (sealed: Uint8Array, boundTo: string) => Buffer<ArrayBuffer>;
  /** Whether an item was sealed with one of the KEKs, by its first 9 bytes; the rest need not be given. */
  readonly knows: (sealed: Uint8Array) => boolean;
  /** What every item begins with that is sealed with the first KEK: version and KEK id. */
  readonly header: Uint8Array<ArrayBuffer>;
  /** The same of the first KEK's edge key. */
  readonly edgeHeader: Uint8Array<ArrayBuffer>;
  /** Whether an item was sealed with the key that `seal` would take now. */
  readonly isCurrent: (sealed: Uint8Array, boundTo: string) => boolean;
  /** Whether what edges open is sealed with the edge key; else with the KEK, as everything is. */
  readonly isSplit: boolean;
  /** Whether an item was sealed with an edge key of ours, by its first 9 bytes. */
  readonly isOfEdges: (sealed: Uint8Array) => boolean;
  /** The edge keys, in the order of the KEKs: what an edge is given as its KEKs. */
  readonly edgeKeys: readonly Uint8Array[];
  /**
   * Returns 32 bytes for one purpose (HKDF, RFC 5869, 3.2), of the KEK that sealed `like`; of the first one where it is
   * null. The same arguments always give the same bytes. Throws `vault_key_unknown`.
   */
  readonly derive: (purpose: string, like: Uint8Array | null) => Buffer;
};

type Key = { readonly bytes: Buffer; readonly header: Buffer<ArrayBuffer> };

/** The rows whose items edges open, as `boundTo` names them: private keys, and the derived secrets that an edge works with. */
const ofEdges = /^(?:certificate\/.*|derived_secret\/(?:target|probe|signing|tickets))$/;

/**
 * A vault over KEKs of 32 bytes, which are copied: the first one seals, each opens what it sealed. Another length throws a
 * RangeError.
 */
export function createVault(first: Uint8Array, ...others: readonly Uint8Array[]): Vault {
  return vaultOf([first, ...others], false);
}

/** The same, which seals what edges open with the edge key of the first KEK. */
export function createSplitVault(first: Uint8Array, ...others: readonly Uint8Array[]): Vault {
  return vaultOf([first, ...others], true);
}

function vaultOf(keks: readonly [Uint8Array, ...Uint8Array[]], isSplit: boolean): Vault {
  const [first, ...others] = keks;
  const whole = keyOf(first);
  const keys = [whole, ...others.map(keyOf)];
  const edgeKeyOfFirst = edgeKeyOf(whole);
  const edgeKeys = [edgeKeyOfFirst, ...keys.slice(1).map(edgeKeyOf)];
  const isOf = (sealed: Uint8Array) => {
    const header = sealed.subarray(0, HEADER_BYTES);
    return (key: Key) => key.header.equals(header);
  };
  const sealing = (boundTo: string) => (isSplit && ofEdges.test(boundTo) ? edgeKeyOfFirst : whole);
  const keyFor = (sealed: Uint8Array) => [...keys, ...edgeKeys].find(isOf(sealed));
  /** Of what was sealed with an edge key, too. */
  const kekFor = (sealed: Uint8Array) =>
    keys.find((key, nth) => [key, ...edgeKeys.slice(nth, nth + 1)].some(isOf(sealed)));

  return {
    seal(plaintext, boundTo) {
      const current = sealing(boundTo);
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
    isCurrent: (sealed, boundTo) => isOf(sealed)(sealing(boundTo)),
    header: Uint8Array.from(whole.header),
    edgeHeader: Uint8Array.from(edgeKeyOfFirst.header),
    isSplit,
    isOfEdges: (sealed) => edgeKeys.some(isOf(sealed)),
    edgeKeys: edgeKeys.map(({ bytes }) => Uint8Array.from(bytes)),
    derive(purpose, like) {
      const { bytes } = like === null ? whole : (kekFor(like) ?? unknownKey());
      return Buffer.from(hkdfSync('sha256', bytes, '', purpose, KEY_BYTES));
    },
  };
}

function keyOf(kek: Uint8Array): Key {
  if (kek.length !== KEY_BYTES) throw new RangeError('the key encryption key must have 32 bytes');
  const bytes = Buffer.from(kek);
  return { bytes, header: Buffer.concat([Buffer.of(VERSION), kekIdOf(bytes)]) };
}

/** Its purpose is part of the format: another text would be another key. */
function edgeKeyOf({ bytes }: Key): Key {
  return keyOf(Buffer.from(hkdfSync('sha256', bytes, '', 'signpost edge key', KEY_BYTES)));
}

/** A hash prefix of a random key gives nothing of it away. */
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
