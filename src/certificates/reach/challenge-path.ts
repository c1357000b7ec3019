/**
 * Asks the addresses of a host name for a challenge as a certificate authority does (RFC 8555, 8.3), at the port of http-01
 * and at that of visitors, and follows redirects as the authority would. Whatever a redirect names is judged before it is
 * connected to.
 */
import {
  type AddressReach,
  type BadRedirect,
  proxyIn,
  REDIRECTS_MAX,
  type ReachAnswer,
  type ReachEnd,
  readRedirect,
} from '../../core/certificates/reach.ts';
import { printable } from '../../core/names/printable.ts';
import type { ChallengeType } from '../authorities/authority.ts';
import type { Probes } from '../served/probe.ts';
import { showsProof } from '../served/proof-certificate.ts';
import { type Got, getFrom } from './get-from.ts';

/** How addresses are asked. */
export type ReachDeps = {
  /** Makes tokens that only our edges can answer; null where this process has not their secret. */
  readonly probes: Probes | null;
  /** Which of the two our edges answer in handshakes; for the other one that cannot be told at port 443. */
  readonly challenge: ChallengeType;
  /** 80 and 443 but for laboratories. */
  readonly ports: { readonly http: number; readonly https: number };
  /** The addresses of a host name as the rest of the world resolves it; none where there was no usable answer. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /** Whether an address may be connected to. */
  readonly isAllowed: (address: string) => boolean;
  /** For everything together. */
  readonly timeoutMs: number;
};

/** A name has a few; more than these say nothing new. Our choice. */
const ADDRESSES_MAX = 8;
const TEXT_MAX = 80;
const PATH = '/.well-known/acme-challenge/';
/** Of a token that no server knows, where there are no probes. */
const UNKNOWN_TOKEN = 'signpost-doctor';

/**
 * Asks each address of the name, 8 at most, at both ports; all of http come first, in the order of the addresses. Never
 * rejects for what the network does.
 */
export async function askAddresses(
  deps: ReachDeps,
  hostname: string,
): Promise<readonly AddressReach[]> {
  const found = await deps.lookupAddresses(hostname);
  const addresses = [...new Set(found)].slice(0, ADDRESSES_MAX);
  const signal = AbortSignal.timeout(deps.timeoutMs);
  const ask = (scheme: AddressReach['scheme']) =>
    addresses.map((address) => askAddress({ ...deps, hostname, signal }, scheme, address));
  return Promise.all([...ask('http'), ...ask('https')]);
}

type Asking = ReachDeps & { readonly hostname: string; readonly signal: AbortSignal };

async function askAddress(
  asking: Asking,
  scheme: AddressReach['scheme'],
  address: string,
): Promise<AddressReach> {
  const place = { address, port: asking.ports[scheme], scheme };
  if (!asking.isAllowed(address)) return { ...place, answers: [], end: { outcome: 'reserved' } };
  if (scheme === 'https' && (await isOurHandshake(asking, address))) {
    return { ...place, answers: [], end: { outcome: 'edge' } };
  }
  const answers: ReachAnswer[] = [];
  const end = await follow(asking, place, answers);
  return { ...place, answers, end };
}

/** Of an edge that answers tls-alpn-01 probes: what it answers over HTTP is the deploy's, which nobody has to be asked for. */
async function isOurHandshake(
  { probes, challenge, ports, hostname }: Asking,
  address: string,
): Promise<boolean> {
  if (probes === null || challenge !== 'tls-alpn-01') return false;
  const token = probes.newToken(hostname);
  const answer = probes.answerTo(token, hostname) ?? '';
  const question = { address, port: ports.https, hostname, token, answer, timeoutMs: HANDSHAKE_MS };
  return showsProof(question).catch(() => false);
}

const HANDSHAKE_MS = 3_000;

/** Pushes each answer, and returns how it ended. */
async function follow(
  asking: Asking,
  { address, port, scheme }: Pick<AddressReach, 'address' | 'port' | 'scheme'>,
  answers: ReachAnswer[],
): Promise<ReachEnd> {
  const { token, expected } = tokenFor(asking);
  let next: Hop = {
    url: new URL(`${scheme}://${asking.hostname}:${port}${PATH}${token}`),
    address,
  };
  for (;;) {
    const got = await getFrom(next.url, next.address, asking.signal);
    if ('outcome' in got) return got;
    answers.push(answerOf(got, next, token));
    if (got.location === null) {
      const isOurs = got.status === 200 && got.body === expected;
      return { outcome: isOurs ? 'edge' : 'other_answer' };
    }
    const redirected = await redirectedTo(asking, next.url, got.location, answers.length);
    if ('reason' in redirected) return bad(redirected.reason, got.location);
    next = redirected;
  }
}

/** A token, and what an edge of ours would answer; null: nobody of ours knows it. */
function tokenFor({ probes, hostname }: Asking) {
  if (probes === null) return { token: UNKNOWN_TOKEN, expected: null };
  const token = probes.newToken(hostname);
  return { token, expected: probes.answerTo(token, hostname) };
}

type Hop = { readonly url: URL; readonly address: string };

/** Where a redirect leads, with an address that may be connected to. */
async function redirectedTo(
  { ports, lookupAddresses, isAllowed }: Asking,
  from: URL,
  location: string,
  before: number,
): Promise<Hop | { readonly reason: BadRedirect }> {
  if (before > REDIRECTS_MAX) return { reason: 'too_many' };
  const redirect = readRedirect(location, from, ports);
  if ('reason' in redirect) return redirect;
  const [address] = await lookupAddresses(redirect.to.hostname);
  if (address === undefined) return { reason: 'unresolved' };
  return isAllowed(address) ? { url: redirect.to, address } : { reason: 'not_public' };
}

function bad(reason: BadRedirect, to: string): ReachEnd {
  return { outcome: 'bad_redirect', reason, to: printable(to, TEXT_MAX) };
}

function answerOf(got: Got, { url, address }: Hop, token: string): ReachAnswer {
  const { server } = got.headers;
  return {
    url: printable(url.href.replace(token, ''), 2 * TEXT_MAX),
    address,
    status: got.status,
    server: typeof server === 'string' ? printable(server, TEXT_MAX) : null,
    proxy: proxyIn(got.headers),
  };
}
