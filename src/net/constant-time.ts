import { timingSafeEqual } from 'node:crypto';

/** Compares in constant time; only the length can leak. */
export function isSameSecret(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === others.length && timingSafeEqual(bytes, others);
}
