/** METRICS_TOKEN: a bearer token that reads metrics and nothing else. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether an Authorization header brings the token (RFC 6750, 2.1); never where there is none to bring. */
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

/** Of one length, whatever was given. */
function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
