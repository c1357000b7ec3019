/** Opens requests to deploys over kept connections. */

import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.ts';
import { portOf } from '../../core/certificates/reach.ts';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { trustedProxies } from '../../net/client-address.ts';
import {
  addressesOf,
  type ClassifyDestination,
  createClassify,
  createLookup,
  type DestinationKind,
  hostOf,
  type Lookup,
} from '../../net/destination.ts';
import type { Listeners, OwnAddresses, OwnListeners } from '../../net/own-addresses.ts';
import type { RequestTarget } from '../routes/redirect.ts';
import { upstreamHeaders } from './forwarded-headers.ts';

export type Passed = {
  readonly request: IncomingMessage;
  /** The visitor's address. */
  readonly client: string;
  readonly target: RequestTarget;
  /** An http or https URL. */
  readonly upstream: string;
  readonly route: Pick<EdgeRoute, 'projectId' | 'primary' | 'signing' | 'upstreamCaId'>;
};

/** Which addresses are allowed, and which CAs verify the certificate. */
export type Terms = {
  readonly classify: ClassifyDestination;
  /** Null: the CAs that Node.js trusts. */
  readonly trust: Trust | null;
};

export type Upstreams = {
  /**
   * The body is still to be sent. Throws PathRefused, UpstreamRefused (also emitted as the
   * request's error) for a forbidden address, and TypeError for an invalid URL.
   */
  readonly open: (passed: Passed, terms: Terms) => ClientRequest;
  readonly close: () => void;
};

/** Creates its own connection pools. The caller sets response timeouts. */
export function createUpstreams({ lookup }: UpstreamReach, signingKey: SigningKey): Upstreams {
  const sign = createSign(signingKey);
  const kept = { keepAlive: true, maxFreeSockets: IDLE_MAX.origin, timeout: IDLE_MS };
  const http = boundIdle(new HttpAgent(kept));
  const https = boundIdle(keepApart(new HttpsAgent(kept)));
  const parse = createParser();
  return {
    open({ request, client, target, upstream, route }, { classify, trust }) {
      const { url, host } = parse(upstream);
      refuseLiteral(url, classify);
      const path = upstreamPath(url.pathname, target.path);
      if (path === null) throw new PathRefused('the path leads out of the upstream’s path');
      const { method = 'GET' } = request;
      const headers = upstreamHeaders(request, client, target.authority, route.primary);
      const forwardedFor = String(headers['x-forwarded-for']);
      headers[SIGNATURE_FIELD] = sign(route, {
        method,
        host: target.authority,
        path,
        forwardedFor,
      });
      const options = {
        method,
        host,
        port: url.port,
        path,
        headers,
        lookup: guardedLookup(url, lookup, classify),
        // Otherwise, Node.js would send the customer's domain, taken from Host.
        servername: isIP(host) === 0 ? host : '',
      };
      if (url.protocol !== 'https:') return httpRequest({ ...options, agent: http });
      return httpsRequest({ ...options, rejectUnauthorized: true, ...trust, agent: https });
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** A deploy's own CAs, as connection options. */
export type Trust = {
  /** The deploy's ID. */
  readonly trustId: string;
  readonly secureContext: SecureContext;
};

/** Keeps connections and TLS sessions apart if they were verified by different CAs. */
function keepApart(agent: HttpsAgent): HttpsAgent {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options: RequestOptions & Partial<Trust> = {}) =>
    `${nameOf(options)}:${options.trustId ?? ''}`;
  return agent;
}

type Parsed = { readonly url: URL; readonly host: string };

const PARSED_MAX = 1_000;

/** Throws a TypeError for an invalid URL. */
function createParser(): (upstream: string) => Parsed {
  const kept = new LRUCache<string, Parsed>({ max: PARSED_MAX });
  return (upstream) => {
    const known = kept.get(upstream);
    if (known !== undefined) return known;
    const url = new URL(upstream);
    const parsed = { url, host: hostOf(url) };
    kept.set(upstream, parsed);
    return parsed;
  };
}

/** Idle connections per origin and per agent. */
const IDLE_MAX = { origin: 64, all: 1_000 } as const;
/** Longer than most pauses between requests, shorter than most servers keep a connection. */
const IDLE_MS = 15_000;

/** Each idle connection uses a file descriptor. */
function boundIdle<A extends HttpAgent>(agent: A): A {
  const idle = new Set<Duplex>();
  const known = new WeakSet<Duplex>();
  const keep = agent.keepSocketAlive.bind(agent);
  const reuse = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (socket) => {
    if (idle.size >= IDLE_MAX.all) return false;
    const isKept = keep(socket);
    idle.add(socket);
    if (!known.has(socket)) socket.once('close', () => idle.delete(socket));
    known.add(socket);
    return isKept;
  };
  agent.reuseSocket = (socket, request) => {
    idle.delete(socket);
    reuse(socket, request);
  };
  return agent;
}

/** How names of deploys are resolved, and which addresses are allowed. */
export type UpstreamReach = {
  readonly lookup: Lookup;
  readonly decide: () => Promise<ClassifyDestination>;
};

/** The deploy has an address that is not allowed. `message` tells the operator what to do. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
}

/** The request path leads out of the upstream's path. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** What the rules of addresses need. */
type AroundUpstreams = {
  readonly config: Pick<Config, 'dns' | 'upstreams'>;
  readonly ownAddresses: OwnAddresses;
  readonly ownListeners: OwnListeners;
};

/**
 * Allows public addresses except those of the platform and its storage, and everything in
 * `UPSTREAM_NETWORKS` except where Signpost and its storage listen. Visitors only wait for the first
 * lookup of the platform's own addresses. `now`: monotonic milliseconds.
 */
export function upstreamReach(
  { config: { dns, upstreams }, ownAddresses, ownListeners }: AroundUpstreams,
  now: () => number = () => performance.now(),
): UpstreamReach {
  const isNamed = trustedProxies(upstreams.networks);
  type Own = { readonly addresses: readonly string[]; readonly listeners: readonly Listeners[] };
  let own: Own | null = null;
  let decided: { readonly classify: ClassifyDestination; readonly until: number } | null = null;
  return {
    lookup: createLookup(dns.servers),
    async decide() {
      if (decided !== null && now() < decided.until) return decided.classify;
      const resolved = Promise.all([ownAddresses(), ownListeners()]).then(
        ([addresses, listeners]) => {
          own = { addresses, listeners };
          return own;
        },
      );
      resolved.catch(() => {});
      const known = own ?? (await resolved);
      const classify = onceEach(createClassify({ ...known, isNamed }));
      decided = { classify, until: now() + DECIDED_MS };
      return classify;
    },
  };
}

/** Checking asks the system for this machine's addresses; literal URLs check every request. */
const DECIDED_MS = 1_000;

function onceEach(classify: ClassifyDestination): ClassifyDestination {
  const kinds = new Map<string, DestinationKind>();
  return (address, port) => {
    const place = `${address} ${port}`;
    const kind = kinds.get(place) ?? classify(address, port);
    kinds.set(place, kind);
    return kind;
  };
}

/** For a literal address in a URL, in any notation. Names are checked when resolved. */
function refuseLiteral(url: URL, classify: ClassifyDestination): void {
  const host = hostOf(url);
  const refusal = isIP(host) === 0 ? null : refusalOf(host, url, classify);
  if (refusal !== null) throw refusal;
}

/**
 * Gives the socket the checked addresses: resolving again would allow DNS rebinding. One forbidden
 * address rejects all, because any of them could be connected to.
 */
function guardedLookup(url: URL, lookup: Lookup, classify: ClassifyDestination): LookupFunction {
  return (hostname, { all }, give) => {
    const fail = (error: NodeJS.ErrnoException) => give(error, all === true ? [] : '');
    addressesOf(url, lookup).then((addresses) => {
      const [first] = addresses;
      if (first === undefined) return fail(new Error(`${hostname} has no address`));
      const refusals = addresses.flatMap(({ address }) => refusalOf(address, url, classify) ?? []);
      if (refusals[0] !== undefined) return fail(refusals[0]);
      if (all === true) return give(null, [...addresses]);
      return give(null, first.address, first.family);
    }, fail);
  };
}

function refusalOf(
  address: string,
  url: URL,
  classify: ClassifyDestination,
): UpstreamRefused | null {
  const port = portOf(url);
  const kind = classify(address, port);
  if (kind === 'allowed') return null;
  return new UpstreamRefused(
    kind === 'own_port'
      ? `Signpost itself or its storage listens at ${address} port ${port}, which is never a deploy`
      : `${address} is not public or belongs to the platform. To allow deploys there, add it to UPSTREAM_NETWORKS`,
  );
}

/**
 * Without a prefix, the request's path is unchanged; with one, dot segments are resolved (RFC 3986,
 * 5.2.4). Null if the deploy could still leave the prefix.
 */
function upstreamPath(prefix: string, pathAndQuery: string): string | null {
  const before = prefix.replace(/\/$/, '');
  if (before === '') return pathAndQuery;
  const path = withoutDotSegments(pathAndQuery);
  return climbsWhenDecoded(path) ? null : before + path;
}

/** Whether a deploy that decodes first, or treats `\` as `/`, could leave the prefix. */
function climbsWhenDecoded(pathAndQuery: string): boolean {
  const [path = ''] = pathAndQuery.split('?', 1);
  return /(?:[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\;]|%2f|%5c|%3b)/i.test(path);
}

/** `.` and `..`, also with dots encoded as %2e, which is equivalent (RFC 3986, 6.2.2.2). */
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** Other paths stay byte for byte the same. Never climbs above the root. */
function withoutDotSegments(pathAndQuery: string): string {
  const end = pathAndQuery.search(/[?#]/);
  const path = end === -1 ? pathAndQuery : pathAndQuery.slice(0, end);
  const segments = path.split('/').slice(1);
  if (!segments.some((segment) => DOT_SEGMENT.test(segment))) return pathAndQuery;
  const left: string[] = [];
  for (const segment of segments) {
    if (!DOT_SEGMENT.test(segment)) left.push(segment);
    else if (segment.replace(/%2e/gi, '.') === '..') left.pop();
  }
  // `/a/.` and `/a/..` name directories.
  if (DOT_SEGMENT.test(segments.at(-1) ?? '')) left.push('');
  return `/${left.join('/')}${end === -1 ? '' : pathAndQuery.slice(end)}`;
}

// Signs requests like Stripe's webhooks, so deploys can verify that they came through the edge.

/** Not `Signature` (RFC 9421), which belongs to visitors and is forwarded. */
const SIGNATURE_FIELD = 'signpost-signature';

/** 32 bytes per project and generation (src/core/operations/edge-route.ts). It never changes. */
type SigningKey = (projectId: string, generation: number) => Uint8Array;

/** As sent to the deploy, in bytes (latin1). The parts contain no line breaks. */
type SignedRequest = {
  readonly method: string;
  readonly host: string;
  /** Includes the query. */
  readonly path: string;
  readonly forwardedFor: string;
};

/** 10,000 projects at about 200 bytes; a miss costs one HMAC. */
const KEYS_MAX = 10_000;

/** `t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, and a second `v1` while two keys sign. */
export function createSign(
  signingKey: SigningKey,
  clock: () => number = Date.now,
): (project: Pick<EdgeRoute, 'projectId' | 'signing'>, signed: SignedRequest) => string {
  const keys = new LRUCache<string, KeyObject>({ max: KEYS_MAX });

  function keyOf(projectId: string, generation: number): KeyObject {
    const id = `${projectId}/${generation}`;
    const known = keys.get(id);
    if (known !== undefined) return known;
    const key = createSecretKey(signingKey(projectId, generation));
    keys.set(id, key);
    return key;
  }

  return ({ projectId, signing }, { method, host, path, forwardedFor }) => {
    const now = clock();
    const t = Math.floor(now / 1_000);
    const text = `${t}\n${method}\n${host}\n${path}\n${forwardedFor}`;
    const by = (generation: number) =>
      createHmac('sha256', keyOf(projectId, generation)).update(text, 'latin1').digest('hex');
    const { generation, oldEndsAt } = signing;
    const field = `t=${t},v1=${by(generation)}`;
    return oldEndsAt !== null && now < oldEndsAt ? `${field},v1=${by(generation - 1)}` : field;
  };
}
