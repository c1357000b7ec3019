/** Requests a challenge from each address, as a CA does (RFC 8555, 8.3; RFC 8737, 3). */

import { createHmac, randomBytes } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import type { Probe } from '../../core/certificates/escalation.ts';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import { isSameSecret } from '../../net/constant-time.ts';
import type { ChallengeType } from '../authorities/authority.ts';
import { showsProof } from './proof-certificate.ts';

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

/** Let's Encrypt allows 10 s per connection; above this limit an address counts as slow. */
const TIMEOUT_MS = 3_000;
/** Our response has 43 bytes. */
const BODY_BYTES_MAX = 4_096;
/** Names have a few addresses; more add no information. */
const ADDRESSES_MAX = 8;

export function addressesToAsk(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses)].slice(0, ADDRESSES_MAX);
}

/** No route from this machine. */
const noRoute: ReadonlySet<string> = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']);

export type ReachabilityDeps = {
  readonly probes: Probes;
  readonly challenge: ChallengeType;
  /** The port that CAs use: 80 or 443 except in test labs. */
  readonly port: number;
  /** Probe private addresses, too (test labs). */
  readonly allowPrivate: boolean;
};

/** At most ADDRESSES_MAX, concurrently; keeps their order. Never rejects on network failures. */
export function probeAddresses(
  deps: ReachabilityDeps,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Probe[]> {
  return Promise.all(addressesToAsk(addresses).map((address) => probe(deps, hostname, address)));
}

async function probe(
  { probes, challenge, port, allowPrivate }: ReachabilityDeps,
  hostname: string,
  address: string,
): Promise<Probe> {
  const asked = challenge === 'http-01' ? { address } : { address, method: challenge };
  if (!allowPrivate && reservedRange(address) !== null) return { ...asked, outcome: 'reserved' };
  const question = { address, port, hostname, token: probes.newToken(hostname) };
  const ask = challenge === 'http-01' ? askOverHttp : askOverTls;
  try {
    return { ...asked, ...(await ask(probes, question)) };
  } catch (fault) {
    return { ...asked, outcome: failureOutcome(fault) };
  }
}

async function askOverHttp(probes: Probes, question: Question) {
  const { status, body } = await fetchFrom(question);
  return status === 200 && body === probes.answerTo(question.token, question.hostname)
    ? ({ outcome: 'reachable' } as const)
    : ({ outcome: 'other_answer', status } as const);
}

async function askOverTls(probes: Probes, question: Question) {
  const answer = probes.answerTo(question.token, question.hostname) ?? '';
  return (await showsProof({ ...question, answer, timeoutMs: TIMEOUT_MS }))
    ? ({ outcome: 'reachable' } as const)
    : ({ outcome: 'other_answer', status: null } as const);
}

/** Classifies a failed connection. */
export function failureOutcome(fault: unknown): 'refused' | 'timeout' | 'no_route' {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  const name = fault instanceof Error ? fault.name : '';
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ETIMEDOUT') return 'timeout';
  return noRoute.has(code) ? 'no_route' : 'refused';
}

type Question = {
  readonly address: string;
  readonly port: number;
  readonly hostname: string;
  readonly token: string;
};

/** Without redirects. The body is null if it exceeds BODY_BYTES_MAX. */
function fetchFrom({ address, port, hostname, token }: Question) {
  return new Promise<{ status: number; body: string | null }>((resolve, reject) => {
    const asking = request(
      {
        host: address,
        port,
        path: `/.well-known/acme-challenge/${token}`,
        headers: { Host: hostname, 'User-Agent': 'signpost/0.1', Connection: 'close' },
        agent: false,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      (response) => {
        const status = response.statusCode ?? 0;
        readCapped(response).then((body) => resolve({ status, body }), reject);
      },
    );
    asking.on('error', reject).end();
  });
}

async function readCapped(response: IncomingMessage): Promise<string | null> {
  let body = '';
  for await (const chunk of response.setEncoding('latin1') as AsyncIterable<string>) {
    body += chunk;
    if (body.length > BODY_BYTES_MAX) return null; // also ends the connection
  }
  return body;
}
