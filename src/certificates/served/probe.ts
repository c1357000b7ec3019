/** Tokens of our probes, which request a challenge as a CA does (RFC 8555, 8.3; RFC 8737, 3). */

import { createHmac, randomBytes } from 'node:crypto';
import { isSameSecret } from '../../net/constant-time.ts';

/** A CA's token cannot match by chance: it is random (RFC 8555, 8.3: 128 bits or more). */
const PREFIX = 'signpost-probe-';
const NONCE_BYTES = 16;
/** RFC 2104, 5: not less than half of the hash. */
const MAC_BYTES = 16;
const NONCE_CHARACTERS = 22;

/**
 * Tokens need no storage: worker and edge have the same key. Each is new, bound to one name, and
 * cannot be forged. For `tls-alpn-01`, where a CA names no token, it is sent as a second protocol
 * after `acme-tls/1`.
 */
export type Probes = {
  readonly newToken: (hostname: string) => string;
  /** A CA's token never has this prefix. */
  readonly isProbe: (token: string) => boolean;
  /** Null if the token was not made for this host name. */
  readonly answerTo: (token: string, hostname: string) => string | null;
};

/** `key`: the secret `probe` of src/certificates/vault/derived-secrets.ts. */
export function createProbes(key: Uint8Array): Probes {
  const macOf = (said: string) => createHmac('sha256', key).update(said).digest();
  /** The prefix keeps tokens and responses distinct. */
  const signed = (nonce: string, hostname: string) => {
    const mac = macOf(`token/${nonce}/${hostname}`).subarray(0, MAC_BYTES);
    return PREFIX + nonce + mac.toString('base64url');
  };
  const isProbe = (token: string) => token.startsWith(PREFIX);
  return {
    newToken: (hostname) => signed(randomBytes(NONCE_BYTES).toString('base64url'), hostname),
    isProbe,
    answerTo(token, hostname) {
      if (!isProbe(token)) return null;
      const nonce = token.slice(PREFIX.length, PREFIX.length + NONCE_CHARACTERS);
      if (!isSameSecret(token, signed(nonce, hostname))) return null;
      return macOf(`${token}/${hostname}`).toString('base64url');
    },
  };
}

type Lookups = {
  findChallenge(token: string, hostname: string): Promise<string | null>;
  findTlsChallenge(hostname: string): Promise<string | null>;
};

export type Probed = {
  /** The response to a probe; null for other tokens. No I/O. */
  readonly answerProbe: Probes['answerTo'];
  /** The name's open tls-alpn-01 key authorization or, with a token, the probe's response. */
  findProof(hostname: string, probeToken: string | null): Promise<string | null>;
};

/** No I/O for probes. */
export function answeringProbes<L extends Lookups>(lookups: L, probes: Probes): L & Probed {
  return {
    ...lookups,
    answerProbe: probes.answerTo,
    findChallenge: async (token, hostname) =>
      probes.isProbe(token)
        ? probes.answerTo(token, hostname)
        : lookups.findChallenge(token, hostname),
    findProof: async (hostname, probeToken) =>
      probeToken === null
        ? lookups.findTlsChallenge(hostname)
        : probes.answerTo(probeToken, hostname),
  };
}

/** Names have a few addresses; more add no information. */
const ADDRESSES_MAX = 8;

export function addressesToAsk(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses)].slice(0, ADDRESSES_MAX);
}

/** No route from this machine. */
const noRoute: ReadonlySet<string> = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']);

/** Classifies a failed connection. */
export function failureOutcome(fault: unknown): 'refused' | 'timeout' | 'no_route' {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  const name = fault instanceof Error ? fault.name : '';
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ETIMEDOUT') return 'timeout';
  return noRoute.has(code) ? 'no_route' : 'refused';
}
