/**
 * Requests a challenge from a host name's addresses, as a CA does (RFC 8555, 8.3), at the ports for
 * HTTP and HTTPS, and follows redirects as the CA would.
 */
import { setMaxListeners } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Probe } from '../../core/certificates/escalation.ts';
import {
  type AddressReach,
  PROBE_MS,
  portOf,
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
import { addressesToAsk, failureOutcome, type Probes } from '../served/probe.ts';
import { showsProof } from '../served/proof-certificate.ts';

export type ReachRules = {
  /** Null: this process does not have their key, so it cannot recognize our edge. */
  readonly probes: Probes | null;
  readonly challenge: ChallengeType;
  readonly ports: RedirectPorts;
  /** As a resolver returns them; empty without a usable answer. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
  /** Decides for every address, also of redirects. */
  readonly isAllowed: (address: string, port: number) => Promise<boolean> | boolean;
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
    if (!(await asking.isAllowed(address, place.port))) return ended('reserved', null);
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
  const isPermitted = await isAllowed(address, portOf(redirect.to));
  return isPermitted ? { url: redirect.to, address } : { problem: 'not_public' };
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

// One GET request to one address, whatever the name in the URL resolves to.

/** Our response has 43 bytes. */
const BODY_BYTES_MAX = 4_096;

type Unanswered = { readonly outcome: 'refused' | 'timeout' | 'no_route' | 'no_tls' | 'no_http' };

type Got = Pick<IncomingMessage, 'headers'> & {
  readonly status: number;
  /** At most a few kilobytes of it. */
  readonly body: string;
  /** Of a redirect. */
  readonly location: string | null;
};

/** Like a CA, it does not verify the certificate. Network failures do not reject it. */
async function getFrom(url: URL, address: string, signal: AbortSignal): Promise<Got | Unanswered> {
  let isConnected = false;
  try {
    return await new Promise<Got>((resolve, reject) => {
      const isTls = url.protocol === 'https:';
      const options = {
        host: address,
        port: portOf(url),
        path: `${url.pathname}${url.search}`,
        headers: { Host: url.host, 'User-Agent': 'signpost/0.1', Connection: 'close' },
        agent: false,
        signal,
      };
      const asking = isTls
        ? httpsRequest({ ...options, servername: url.hostname, rejectUnauthorized: false })
        : httpRequest(options);
      asking.on('socket', (socket) => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => {
          isConnected = true;
        });
      });
      asking.on('response', (response) => readAnswer(response).then(resolve, reject));
      asking.on('error', reject).end();
    });
  } catch (fault) {
    return { outcome: outcomeOf(fault, url, isConnected) };
  }
}

async function readAnswer(response: IncomingMessage): Promise<Got> {
  const { statusCode: status = 0, headers } = response;
  const isRedirect = [301, 302, 303, 307, 308].includes(status);
  let body = '';
  for await (const chunk of response.setEncoding('latin1') as AsyncIterable<string>) {
    body += chunk;
    if (body.length > BODY_BYTES_MAX) break; // also ends the connection
  }
  return { status, headers, body, location: isRedirect ? (headers.location ?? null) : null };
}

function outcomeOf(fault: unknown, url: URL, isConnected: boolean): Unanswered['outcome'] {
  const failure = failureOutcome(fault);
  if (failure !== 'refused') return failure;
  if (isConnected) return 'no_http';
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  const isTlsFailure = code === 'EPROTO' || code === 'ECONNRESET' || code.startsWith('ERR_SSL_');
  return url.protocol === 'https:' && isTlsFailure ? 'no_tls' : 'refused';
}

// Whether a CA would reach our edge at each address of a name: before an order, and in escalations.

export type ProbeRules = Omit<ReachRules, 'probes' | 'signal'> & {
  readonly probes: NonNullable<ReachRules['probes']>;
};

/** Concurrently; keeps their order. Network failures do not reject it. */
export async function probeAddresses(
  rules: ProbeRules,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Probe[]> {
  if (rules.challenge === 'http-01') {
    const all = { ...rules, signal: AbortSignal.timeout(PROBE_MS) };
    return (await reachAddresses(all, hostname, addresses, ['http'])).map(probeOf);
  }
  const distinct = addressesToAsk(addresses);
  return Promise.all(distinct.map((address) => probeByHandshake(rules, hostname, address)));
}

function probeOf({ address, outcome, answers }: AddressReach): Probe {
  switch (outcome) {
    case 'edge':
      return { address, outcome: 'reachable' };
    case 'other_answer':
    case 'bad_redirect':
    case 'no_tls':
      return { address, outcome: 'other_answer', status: answers.at(-1)?.status ?? null };
    case 'no_http':
      return { address, outcome: 'refused' };
    default:
      return { address, outcome };
  }
}

async function probeByHandshake(
  { probes, ports, isAllowed }: ProbeRules,
  hostname: string,
  address: string,
): Promise<Probe> {
  const asked = { address, method: 'tls-alpn-01' } as const;
  if (!(await isAllowed(address, ports.https))) return { ...asked, outcome: 'reserved' };
  const token = probes.newToken(hostname);
  const answer = probes.answerTo(token, hostname) ?? '';
  const question = { address, port: ports.https, hostname, token, answer, timeoutMs: PROBE_MS };
  try {
    return (await showsProof(question))
      ? { ...asked, outcome: 'reachable' }
      : { ...asked, outcome: 'other_answer', status: null };
  } catch (fault) {
    return { ...asked, outcome: failureOutcome(fault) };
  }
}
