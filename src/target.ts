/** What proves which project controls a name: the host name that its record must point to, and a TXT record's value. */
import { createHmac } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'; // base32, RFC 4648, 6, in lower case

/**
 * `<16 base32 characters>.<platformDomain>`, from project and host name by a keyed hash: the same pair asks for
 * the same record for ever, nobody can guess another's, and a CNAME to it proves which project controls the name.
 * `secret`: `target` of src/derived-secrets.ts.
 */
export function createTargets(secret: Uint8Array, platformDomain: string) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `${characters(projectId, hostname).slice(0, 16)}.${platformDomain}`;
}

/**
 * `signpost-domain-verification=<32 base32 characters>`, the same for the same pair for ever: the value of the TXT record
 * that proves whose an apex is (core/proof.ts). Under a secret of its own (`proof` of src/derived-secrets.ts), so that the
 * target, which every visitor's resolver sees, tells nothing of it.
 */
export function createProofs(secret: Uint8Array) {
  const characters = keyedHash(secret);
  return (projectId: string, hostname: string): string =>
    `signpost-domain-verification=${characters(projectId, hostname)}`;
}

/** 32 base32 characters of a project and a host name. */
function keyedHash(key: Uint8Array) {
  return (projectId: string, hostname: string): string => {
    const hash = createHmac('sha256', key).update(`${projectId}/${hostname}`).digest();
    return Array.from(hash, (byte) => alphabet[byte & 31]).join('');
  };
}
