import { createHash, timingSafeEqual } from 'node:crypto';

/** RFC 6750, 2.1; compared in constant time. False if no token is set. */
export function createIsMetricsToken(
  token: string | undefined,
): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => false;
  const wanted = digest(token);
  return (authorization) => {
    const [, given] = /^bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), wanted);
  };
}

/** Hashed to equal length, as timingSafeEqual requires. */
function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
