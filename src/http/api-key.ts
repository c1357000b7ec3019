/** The shape of a key: `signpost_<key id>_<secret><checksum>`. Only a digest of it is ever stored. */
import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12; // 71 bits: two keys never share one by chance
const SECRET_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // holds the 32 bits of a CRC

/** Our choice: a longer token is nobody's key. */
export const MAX_TOKEN_LENGTH = 512;

const shape = new RegExp(
  `^(signpost_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

export type MintedKey = { readonly id: string; readonly token: string };

/** A new key. The token is shown once; who stores it stores `digestOf(token)`. */
export function mintKey(): MintedKey {
  const id = randomText(ID_LENGTH);
  const rest = `signpost_${id}_${randomText(SECRET_LENGTH)}`;
  return { id, token: rest + checksumOf(rest) };
}

/** `ours` has a right checksum; `mistyped` has our shape only; `foreign` may be a key that an operator chose. */
export type KeyShape =
  | { readonly kind: 'ours'; readonly id: string }
  | { readonly kind: 'mistyped' }
  | { readonly kind: 'foreign' };

/** Reads a token without looking anything up. */
export function parseKey(token: string): KeyShape {
  const [, rest, id, checksum] = shape.exec(token) ?? [];
  if (rest === undefined || id === undefined) return { kind: 'foreign' };
  return checksumOf(rest) === checksum ? { kind: 'ours', id } : { kind: 'mistyped' };
}

/** SHA-256 of a token: enough for a secret of this entropy, and looked up by an index. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token, 'utf8').digest());
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** CRC-32 in base 62, most significant first: lets a mistyped or leaked key be recognised offline. */
function checksumOf(text: string): string {
  let [rest, digits] = [crc32(text), ''];
  while (digits.length < CHECKSUM_LENGTH) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
