/**
 * Whether a challenge of an authority would arrive. The worker asks each address of the name by itself, as the authority
 * does (RFC 8555, 8.3; RFC 8737, 3), so that a wrong AAAA record beside a right A record shows; and it asks what only an
 * edge of ours can answer.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import type { Probe } from '../../core/certificates/escalation.ts';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import type { ChallengeType } from '../authorities/authority.ts';
import { showsProof } from './proof-certificate.ts';

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

/**
 * Makes tokens and knows their answers, without storing anything: worker and edge have the same key, so any edge process
 * will do. Each token is new, so that nobody can keep an answer to show; nobody else can make one, and it says that it is
 * ours, for this one name, before anything is done for it. For `tls-alpn-01`, where an authority names no token, it is
 * offered as a second protocol behind `acme-tls/1`.
 */
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

/** For the whole exchange. Let's Encrypt gives a connection 10 s; who needs more than this is slow enough to name. */
const TIMEOUT_MS = 3_000;
/** An answer of ours has 43 bytes. */
const BODY_BYTES_MAX = 4_096;
/** A name has a few; more than these say nothing new. Our choice. */
const ADDRESSES_MAX = 8;

/** The network's own words for "there is no way there from this machine". */
const noRoute: ReadonlySet<string> = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL']);

/** How an address is asked for a challenge. */
export type ReachabilityDeps = {
  readonly probes: Probes;
  /** The kind of challenge to ask for. */
  readonly challenge: ChallengeType;
  /** The port that an authority asks at: 80 or 443 but for laboratories. */
  readonly port: number;
  /** Whether addresses that nobody on the internet has are asked, too (laboratories). */
  readonly allowPrivate: boolean;
};

/**
 * Asks each of the name's addresses at once, each one once and 8 at most; the results are in their order. Never rejects
 * for what the network does.
 */
export function probeAddresses(
  deps: ReachabilityDeps,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Probe[]> {
  const asked = [...new Set(addresses)].slice(0, ADDRESSES_MAX);
  return Promise.all(asked.map((address) => probe(deps, hostname, address)));
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
    return { ...asked, outcome: outcomeOf(fault) };
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

/** Returns what a connection that could not be made means. */
export function outcomeOf(fault: unknown): 'refused' | 'timeout' | 'no_route' {
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

/**
 * Makes one GET over a connection of its own; redirects are not followed. The body is null where it is larger than ours
 * are.
 */
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
    if (body.length > BODY_BYTES_MAX) return null; // ends the connection, too
  }
  return body;
}
