/**
 * The letters of a question in random case (draft-vixie-dnsext-dns0x20): servers repeat the question as it came, so whoever
 * forges an answer must guess a bit more for each letter, beside id and port.
 */
import { randomFillSync } from 'node:crypto';

/** Where a letter's case is in its byte. */
const CASE_BIT = 0x20;

/** Whether a byte is an ASCII letter; the length octets between labels, at most 63, never are. */
function isLetter(byte: number): boolean {
  const lower = byte | CASE_BIT;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Gives the letters in `bytes` from `from` up to `to`, which is not included, the case that random bits say. In place. */
export function mixCase(bytes: Uint8Array, from: number, to: number, random16: () => number): void {
  // A one above the bits that are left says when to draw again.
  let bits = 1;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (!isLetter(byte)) continue;
    if (bits === 1) bits = random16() | 0x1_0000;
    bytes[at] = (bits & 1) === 0 ? byte | CASE_BIT : byte & ~CASE_BIT;
    bits >>= 1;
  }
}

/** Gives the letters in `bytes` from `from` up to `to`, which is not included, lower case. In place. */
export function lowerCase(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (isLetter(byte)) bytes[at] = byte | CASE_BIT;
  }
}

/** Whether two stretches of a message, both from `from` up to `to`, are the same but for the case of letters. */
export function isSameInAnyCase(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const [one = -1, other = -1] = [a[at], b[at]];
    if (one !== other && !(isLetter(one) && (one ^ other) === CASE_BIT)) return false;
  }
  return true;
}

/** Whether two stretches of a message, both from `from` up to `to`, are the same byte by byte. */
export function isSame(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** Numbers drawn at once: one call for each would cost more than the numbers do. */
const BATCH = 2048;

/** Returns a source of numbers from 0 to 65535 that nobody can predict (RFC 5452, 9.2). */
export function createRandom16(): () => number {
  const batch = new Uint16Array(BATCH);
  let next = BATCH;
  return () => {
    if (next >= BATCH) {
      randomFillSync(batch);
      next = 0;
    }
    return batch[next++] ?? 0;
  };
}
