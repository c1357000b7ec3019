/**
 * Questions that only an edge of ours can answer: the worker asks an address as an authority would, and knows the answer
 * by the key that both have. For http-01 that is `/.well-known/acme-challenge/<token>`; for tls-alpn-01, where an
 * authority names no token, a handshake that offers the token as a second protocol behind `acme-tls/1`: so each answer is
 * new, and nobody else can keep one to show. Nothing is stored, so any edge process will do; and nobody else can make a
 * token: it says that it is ours, for this one name, before anything is done for it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * How every token of ours begins. No authority's token begins so by chance: those are random (RFC 8555, 8.3: 128 bits or
 * more).
 */
const PREFIX = 'signpost-probe-';
const NONCE_BYTES = 16;
/** RFC 2104, 5: not less than half of the hash. */
const MAC_BYTES = 16;
/** Each 16 bytes as base64url. */
const NONCE_CHARACTERS = 22;

/** Makes tokens and knows their answers, without storing anything. */
export type Probes = {
  /** Returns a token that was never asked for before, for this host name alone. */
  readonly newToken: (hostname: string) => string;
  /** Whether a token claims to be a probe's. No authority's does. */
  readonly isProbe: (token: string) => boolean;
  /** Returns what an edge answers to a token for this host name; null for one that we did not make for this name. */
  readonly answerTo: (token: string, hostname: string) => string | null;
};

/** `key`: the secret `probe` of src/certificates/vault/derived-secrets.ts, the same in workers and edges. */
export function createProbes(key: Uint8Array): Probes {
  const macOf = (said: string) => createHmac('sha256', key).update(said).digest();
  /** Begins unlike an answer's text, so that neither is ever the other. */
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
      if (!isSame(token, signed(nonce, hostname))) return null;
      return macOf(`${token}/${hostname}`).toString('base64url');
    },
  };
}

function isSame(one: string, other: string): boolean {
  const [bytes, others] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === others.length && timingSafeEqual(bytes, others);
}

type Lookups = {
  findChallenge(token: string, hostname: string): Promise<string | null>;
  findTlsChallenge(hostname: string): Promise<string | null>;
};

/** Finds the proof of a name, for an authority or for a probe of ours. */
export type Probed = {
  /**
   * Resolves with the key authorization of the name's open tls-alpn-01 challenge; with a token, the answer to that
   * probe. Null where there is none.
   */
  findProof(hostname: string, probeToken: string | null): Promise<string | null>;
};

/**
 * Returns the same lookups, which now answer probes as well, without asking anybody. The edge asks for no name that is
 * not held here (EdgeDeps), so neither answer is ever about another.
 */
export function answeringProbes<L extends Lookups>(lookups: L, probes: Probes): L & Probed {
  return {
    ...lookups,
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
