/** The shape of a key: `signpost_<key id>_<secret><checksum>`. Only a digest of it is ever stored. */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12; // 71 bits: two keys never share one by chance
const SECRET_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // holds the 32 bits of a CRC

/** Characters. A longer token cannot be a key. */
export const MAX_TOKEN_LENGTH = 512;

const shape = new RegExp(
  `^(signpost_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/** `id`: 12 letters and digits, not secret. `token`: the whole key, which has the id in it. */
export type MintedKey = { readonly id: string; readonly token: string };

/** The start of a key with this id: enough to recognize it, and no help in guessing the rest. */
export function prefixOf(id: string): string {
  return `signpost_${id}`;
}

/** Returns a new key, random by the system's generator. The token is shown once; who stores it stores `digestOf(token)`. */
export function mintKey(): MintedKey {
  const id = randomText(ID_LENGTH);
  const rest = `${prefixOf(id)}_${randomText(SECRET_LENGTH)}`;
  return { id, token: rest + checksumOf(rest) };
}

/** `ours` has a right checksum; `mistyped` has our shape only; `foreign` may be a key that an operator chose. */
export type KeyShape =
  | { readonly kind: 'ours'; readonly id: string }
  | { readonly kind: 'mistyped' }
  | { readonly kind: 'foreign' };

/** Reads the shape of a token, without asking whether any such key exists. Never throws. */
export function parseKey(token: string): KeyShape {
  const [, rest, id, checksum] = shape.exec(token) ?? [];
  if (rest === undefined || id === undefined) return { kind: 'foreign' };
  return checksumOf(rest) === checksum ? { kind: 'ours', id } : { kind: 'mistyped' };
}

/** Returns why every request with a configured key would be refused; null if the key works. */
export function apiKeyProblem(configured: string): string | null {
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(configured)) {
    return 'must be printable ASCII without spaces at its ends'; // RFC 9110, 5.5: what a field value carries safely
  }
  if (configured.length > MAX_TOKEN_LENGTH)
    return `must have at most ${MAX_TOKEN_LENGTH} characters`;
  return parseKey(configured).kind === 'mistyped'
    ? 'looks like a key of this service, but its checksum is wrong'
    : null;
}

/** Whether a text has a key of our making in it, or most of one: such a text must not be written down. */
export function holdsKey(text: string): boolean {
  return /signpost_[0-9A-Za-z]{12}_/.test(text);
}

/** Returns the SHA-256 of a token: enough for this much entropy; a slow hash would make overload easy. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return digestNamed(digestNameOf(token));
}

/** The same digest as text, and three times as fast to make: what a token is remembered under. */
export function digestNameOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** Returns the digest that a name of `digestNameOf` stands for. */
export function digestNamed(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(name, 'base64url'));
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** CRC-32 in base 62, most significant first: lets a mistyped or leaked key be recognized offline. */
function checksumOf(text: string): string {
  let [rest, digits] = [crc32(text), ''];
  while (digits.length < CHECKSUM_LENGTH) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
