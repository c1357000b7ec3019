/**
 * Requests a challenge from a host name's addresses, as a CA does (RFC 8555, 8.3), at the ports for
 * HTTP and HTTPS, and follows redirects as the CA would.
 */
import { setMaxListeners } from 'node:events';
import {
  type AddressReach,
  proxyIn,
  REDIRECTS_FOLLOWED_MAX,
  type ReachAnswer,
  type RedirectPorts,
  type RedirectProblem,
  readRedirect,
} from '../../core/certificates/reach.ts';
import { printable } from '../../core/names/printable.ts';
import { beforeAbort } from '../../net/deadline.ts';
import type { ChallengeType } from '../authorities/authority.ts';
import { addressesToAsk, type Probes } from '../served/probe.ts';
import { showsProof } from '../served/proof-certificate.ts';
import { type Got, getFrom } from './get-from.ts';

export type ReachRules = {
  /** Null: this process does not have their key, so it cannot recognize our edge. */
  readonly probes: Probes | null;
  readonly challenge: ChallengeType;
  readonly ports: RedirectPorts;
  /** As a resolver returns them; empty without a usable answer. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /** Decides for every address, also of redirects. */
  readonly isAllowed: (address: string) => boolean;
  /** Ends all requests and lookups. */
  readonly signal: AbortSignal;
};

const TEXT_MAX = 80;
const PATH = '/.well-known/acme-challenge/';
/** Unknown to every server. */
const UNKNOWN_TOKEN = 'signpost-doctor';
const HANDSHAKE_MS = 3_000;

/** Concurrently: each address over HTTP, then each over HTTPS. Network failures do not reject it. */
export function reachAddresses(
  rules: ReachRules,
  hostname: string,
  addresses: readonly string[],
  schemes: readonly AddressReach['scheme'][] = ['http', 'https'],
): Promise<readonly AddressReach[]> {
  setMaxListeners(0, rules.signal); // one per request
  const asking = { ...rules, hostname };
  const distinct = addressesToAsk(addresses);
  return Promise.all(
    schemes.flatMap((scheme) => distinct.map((address) => reachAddress(asking, scheme, address))),
  );
}

type Asking = ReachRules & { readonly hostname: string };
type End = Pick<AddressReach, 'outcome' | 'redirect' | 'lastUrl'>;

async function reachAddress(
  asking: Asking,
  scheme: AddressReach['scheme'],
  address: string,
): Promise<AddressReach> {
  const place = { address, port: asking.ports[scheme], scheme };
  const answers: ReachAnswer[] = [];
  const end = async (): Promise<End> => {
    if (!asking.isAllowed(address)) return ended('reserved', null);
    if (scheme === 'https' && (await provesByHandshake(asking, address)))
      return ended('edge', null);
    return follow(asking, place, answers);
  };
  return { ...place, ...(await end()), answers };
}

/** With tls-alpn-01, the HTTP response at this port can be the deploy's. */
async function provesByHandshake(
  { probes, challenge, ports, hostname }: Asking,
  address: string,
): Promise<boolean> {
  if (probes === null || challenge !== 'tls-alpn-01') return false;
  const token = probes.newToken(hostname);
  const answer = probes.answerTo(token, hostname) ?? '';
  const question = { address, port: ports.https, hostname, token, answer };
  return showsProof({ ...question, timeoutMs: HANDSHAKE_MS }).catch(() => false);
}

type Hop = { readonly url: URL; readonly address: string };

/** Adds each response to `answers`. */
async function follow(
  asking: Asking,
  { address, port, scheme }: Pick<AddressReach, 'address' | 'port' | 'scheme'>,
  answers: ReachAnswer[],
): Promise<End> {
  const { hostname, signal } = asking;
  const { token, expected } = newQuestion(asking);
  let next: Hop = { url: new URL(`${scheme}://${hostname}:${port}${PATH}${token}`), address };
  for (;;) {
    const got = await getFrom(next.url, next.address, signal);
    const lastUrl = shown(next.url, token);
    if ('outcome' in got) return ended(got.outcome, lastUrl);
    answers.push(answerOf(got, next, lastUrl));
    const isEdge = got.status === 200 && got.body === expected;
    if (got.location === null) return ended(isEdge ? 'edge' : 'other_answer', lastUrl);
    const hop = await hopTo(asking, next.url, got.location, answers.length);
    if ('problem' in hop) {
      const redirect = { problem: hop.problem, to: printable(got.location, TEXT_MAX) };
      return { outcome: 'bad_redirect', redirect, lastUrl };
    }
    next = hop;
  }
}

function newQuestion({ probes, hostname }: Asking) {
  if (probes === null) return { token: UNKNOWN_TOKEN, expected: null };
  const token = probes.newToken(hostname);
  return { token, expected: probes.answerTo(token, hostname) };
}

async function hopTo(
  { ports, lookupAddresses, isAllowed, signal }: Asking,
  from: URL,
  location: string,
  before: number,
): Promise<Hop | { readonly problem: RedirectProblem }> {
  if (before > REDIRECTS_FOLLOWED_MAX) return { problem: 'too_many' };
  const redirect = readRedirect(location, from, ports);
  if ('problem' in redirect) return redirect;
  const name = redirect.to.hostname.replace(/\.$/, '');
  const [address] = await beforeAbort(
    signal,
    lookupAddresses(name).catch(() => []),
    [],
  );
  if (address === undefined) return { problem: 'unresolved' };
  return isAllowed(address) ? { url: redirect.to, address } : { problem: 'not_public' };
}

function ended(outcome: AddressReach['outcome'], lastUrl: string | null): End {
  return { outcome, redirect: null, lastUrl };
}

function shown(url: URL, token: string): string {
  return printable(url.href.replace(token, ''), 2 * TEXT_MAX);
}

function answerOf(got: Got, { address }: Hop, url: string): ReachAnswer {
  const { server } = got.headers;
  return {
    url,
    address,
    status: got.status,
    server: server === undefined ? null : printable(String(server), TEXT_MAX),
    proxy: proxyIn(got.headers),
  };
}
