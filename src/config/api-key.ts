/** API key format: `signpost_<key id>_<secret><checksum>`. Only a digest is stored. */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 12; // 71 bits: no collisions by chance
const SECRET_LENGTH = 32; // 190 bits
const CHECKSUM_LENGTH = 6; // fits a 32-bit CRC

/** In characters. A longer token is never a key. */
export const MAX_TOKEN_LENGTH = 512;

const shape = new RegExp(
  `^(signpost_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/** `id` is not secret. `token`: the whole key, which includes the id. */
export type MintedKey = { readonly id: string; readonly token: string };

/** Identifies the key and reveals nothing of the secret. */
export function prefixOf(id: string): string {
  return `signpost_${id}`;
}

/** From the system's secure random generator. Show the token once; store only `digestOf(token)`. */
export function mintKey(): MintedKey {
  const id = randomText(ID_LENGTH);
  const rest = `${prefixOf(id)}_${randomText(SECRET_LENGTH)}`;
  return { id, token: rest + checksumOf(rest) };
}

/** `mistyped`: our format with a wrong checksum. `foreign`: possibly an operator's own key. */
export type KeyShape =
  | { readonly kind: 'ours'; readonly id: string }
  | { readonly kind: 'mistyped' }
  | { readonly kind: 'foreign' };

/** Does not check whether the key exists. Never throws. */
export function parseKey(token: string): KeyShape {
  const [, rest, id, checksum] = shape.exec(token) ?? [];
  if (rest === undefined || id === undefined) return { kind: 'foreign' };
  return checksumOf(rest) === checksum ? { kind: 'ours', id } : { kind: 'mistyped' };
}

/** Why requests with this configured key would be rejected. */
export function apiKeyProblem(configured: string): string | null {
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(configured)) {
    return 'must be printable ASCII without spaces at its ends'; // RFC 9110, section 5.5
  }
  if (configured.length > MAX_TOKEN_LENGTH)
    return `must have at most ${MAX_TOKEN_LENGTH} characters`;
  return parseKey(configured).kind === 'mistyped'
    ? 'looks like a key of this service, but its checksum is wrong'
    : null;
}

/** A Signpost key or most of one. Such text must not be logged or stored. */
export function holdsKey(text: string): boolean {
  return /signpost_[0-9A-Za-z]{12}_/.test(text);
}

/** SHA-256. Keys have enough entropy for a fast hash; a slow one would make overload easy. */
export function digestOf(token: string): Uint8Array<ArrayBuffer> {
  return digestNamed(digestNameOf(token));
}

/** The same digest as text, used as a cache key. Three times as fast as `digestOf`. */
export function digestNameOf(token: string): string {
  return hash('sha256', token, 'base64url');
}

function digestNamed(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(name, 'base64url'));
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

/** CRC-32 in base 62. It identifies mistyped or leaked keys offline. */
function checksumOf(text: string): string {
  let [rest, digits] = [crc32(text), ''];
  while (digits.length < CHECKSUM_LENGTH) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
