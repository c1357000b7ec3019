/**
 * Whether a challenge of an authority would arrive: asked for at each address of the name by itself, as the authority
 * does it (RFC 8555, 8.3; RFC 8737, 3), so that a wrong AAAA record beside a right A record shows.
 */
import { type IncomingMessage, request } from 'node:http';
import type { Probe } from '../../core/certificates/escalation.ts';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import type { ChallengeType } from '../authorities/authority.ts';
import type { Probes } from './probe.ts';
import { showsProof } from './proof-certificate.ts';

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
