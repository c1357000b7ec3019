/** How hard a secret that a person chose is to guess. Its digest is stored without a salt, so nothing else slows a guess. */

/** As many as AES-128 has; what NIST SP 800-57, part 1, 5.6 counts as secure beyond 2030. */
const BITS_MIN = 128;
/** Enough whatever they are: 32 hexadecimal digits have 128 bits. */
const LENGTH_ENOUGH = 32;

/** Returns why a chosen key is too weak, in words that complete its name; null where it has 32 characters or 128 bits. */
export function weaknessOf(key: string): string | null {
  if (key.length >= LENGTH_ENOUGH || estimatedBits(key) >= BITS_MIN) return null;
  return `must have ${LENGTH_ENOUGH} characters, or ${BITS_MIN} bits of entropy by estimate: make one by “openssl rand -base64 24”`;
}

/**
 * Returns the bits of a key as if each character had been drawn by itself from the kinds that occur in it: 16 hexadecimal
 * digits, or 10 digits and 26 letters of each case, and as many others as are used. A character that follows from those
 * before it counts one bit: the third of `aaa`, `abc` or `321`, and what repeats three characters from further left.
 */
export function estimatedBits(key: string): number {
  const perCharacter = Math.log2(Math.max(2, alphabetSize(key)));
  let bits = 0;
  for (let at = 0; at < key.length; at += 1) bits += followsFrom(key, at) ? 1 : perCharacter;
  return bits;
}

function alphabetSize(key: string): number {
  if (/^(?:[\da-f]+|[\dA-F]+)$/.test(key)) return /\d/.test(key) && /[a-f]/i.test(key) ? 16 : 10;
  const kinds = [/[a-z]/, /[A-Z]/].filter((kind) => kind.test(key)).length;
  const others = new Set(key.replaceAll(/[A-Za-z\d]/g, '')).size;
  return 26 * kinds + (/\d/.test(key) ? 10 : 0) + others;
}

function followsFrom(key: string, at: number): boolean {
  if (at < 2) return false;
  const step = key.charCodeAt(at) - key.charCodeAt(at - 1);
  const before = key.charCodeAt(at - 1) - key.charCodeAt(at - 2);
  if (step === before && Math.abs(step) <= 1) return true;
  return key.slice(0, at).includes(key.slice(at - 2, at + 1));
}
