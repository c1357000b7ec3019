/** The host name that a customer's record must point to. */
import { createHmac, hkdfSync } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'; // base32, RFC 4648, 6, in lower case

/**
 * `<16 base32 characters>.<platformDomain>`, from project and host name by a keyed hash: the same pair asks for
 * the same record for ever, nobody can guess another's, and a CNAME to it proves which project controls the name.
 */
export function createTargets(keyEncryptionKey: Uint8Array, platformDomain: string) {
  const key = Buffer.from(hkdfSync('sha256', keyEncryptionKey, '', 'signpost target', 32));
  return (projectId: string, hostname: string): string => {
    const hash = createHmac('sha256', key).update(`${projectId}/${hostname}`).digest();
    const label = Array.from(hash.subarray(0, 16), (byte) => alphabet[byte & 31]).join('');
    return `${label}.${platformDomain}`;
  };
}
