/** Opens requests to deploys over kept connections. */
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
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { trustedProxies as membersOf } from '../../net/client-address.ts';
import {
  addressesOf,
  createLookup,
  hostOf,
  isOwn,
  isPublic,
  type Lookup,
} from '../../net/destination.ts';
import type { OwnAddresses } from '../../net/own-addresses.ts';
import type { RequestTarget } from '../routes/redirect.ts';
import { upstreamHeaders } from './forwarded-headers.ts';
import { createSign, SIGNATURE_FIELD, type SigningKey } from './signature.ts';

/** What a request is passed on with. */
export type Passed = {
  readonly request: IncomingMessage;
  /** The visitor's address. */
  readonly client: string;
  readonly target: RequestTarget;
  /** An http or https URL. */
  readonly upstream: string;
  readonly route: Pick<EdgeRoute, 'projectId' | 'primary' | 'signing' | 'upstreamCaId'>;
};

/** On what a deploy is asked: where it may be, and by whom its certificate is verified. */
export type Terms = {
  readonly isAllowed: IsAllowed;
  /** Null: by the authorities that Node.js trusts. */
  readonly trust: Trust | null;
};

/** Requests to deploys, over kept connections. */
export type Upstreams = {
  /**
   * A request as the client's, to be given its body. Throws PathRefused; UpstreamRefused, which may also be the request's
   * error, where the upstream is out of reach; and a TypeError for what is no URL.
   */
  readonly open: (passed: Passed, terms: Terms) => ClientRequest;
  readonly close: () => void;
};

/** What they ask of the rest of the edge. */
type UpstreamsDeps = {
  readonly reach: Pick<UpstreamReach, 'lookup'>;
  readonly signingKey: SigningKey;
};

/** Connections of their own; how long an answer may take is the caller's to say. */
export function createUpstreams({ reach: { lookup }, signingKey }: UpstreamsDeps): Upstreams {
  const sign = createSign(signingKey);
  const kept = { keepAlive: true, maxFreeSockets: IDLE_MAX.origin, timeout: IDLE_MS };
  const http = boundIdle(new HttpAgent(kept));
  const https = boundIdle(keepApart(new HttpsAgent(kept)));
  const parse = createParser();
  return {
    open({ request, client, target, upstream, route }, { isAllowed, trust }) {
      const { url, host } = parse(upstream);
      refuseLiteral(url, isAllowed);
      const path = upstreamPath(url.pathname, target.path);
      if (path === null) throw new PathRefused('it leads out of the path of its upstream');
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
        lookup: guardedLookup(url, lookup, isAllowed),
        // Without this Node would ask the deploy for the customer's domain, which stands in Host.
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

/** A deploy's own authorities, as options of its connections. */
export type Trust = {
  /** The deploy's id. */
  readonly trustId: string;
  readonly secureContext: SecureContext;
};

/** Has no connection, nor a TLS session, serve where its certificate was verified by other authorities. */
function keepApart(agent: HttpsAgent): HttpsAgent {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (options: RequestOptions & Partial<Trust> = {}) =>
    `${nameOf(options)}:${options.trustId ?? ''}`;
  return agent;
}

type Parsed = { readonly url: URL; readonly host: string };

/** URLs of deploys that are kept parsed. */
const PARSED_MAX = 1_000;

/** Reads an upstream's URL once while it is kept. Throws a TypeError for what is none. */
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

/** Our choice: kept connections without a request, for one origin and for all of them at each agent. */
const IDLE_MAX = { origin: 64, all: 1_000 } as const;
/** Our choice: longer than a visitor takes between two requests, shorter than most servers keep one. */
const IDLE_MS = 15_000;

/** Keeps no more than `IDLE_MAX.all` connections that wait for a request: a descriptor each. */
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

/** Whether an address may be connected to. */
export type IsAllowed = (address: string) => boolean;

/** Where deploys may be: how their names are looked up, and which addresses they may have. */
export type UpstreamReach = {
  readonly lookup: Lookup;
  /** What the addresses of one request are judged by. */
  readonly decide: () => Promise<IsAllowed>;
};

/** A deploy is at an address that it must not be at; `message` says what to do, for whoever runs the edge. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
}

/** A request's path that no deploy below a path of its own is asked for. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/**
 * Public addresses that are not the platform's own, nor its storage's, and whatever lies in `UPSTREAM_NETWORKS`. Visitors
 * wait for the first look-up of our own addresses, and for none after it: while one is under way the last one's count. What
 * an address was judged to be counts for a second: every request of a deploy whose URL spells it out asks. `now`: milliseconds,
 * never backwards.
 */
export function upstreamReach(
  { dns, upstreams }: Pick<Config, 'dns' | 'upstreams'>,
  ownAddresses: OwnAddresses,
  now: () => number = () => performance.now(),
): UpstreamReach {
  const isNamed = membersOf(upstreams.networks);
  let own: readonly string[] | null = null;
  let decided: { readonly isAllowed: IsAllowed; readonly until: number } | null = null;
  return {
    lookup: createLookup(dns.servers),
    async decide() {
      if (decided !== null && now() < decided.until) return decided.isAllowed;
      const resolved = ownAddresses().then((addresses) => {
        own = addresses;
        return addresses;
      });
      resolved.catch(() => {}); // where nobody waits for it; the next request asks again
      const known = own ?? (await resolved);
      const isAllowed = onceEach(
        (address) => isNamed(address) || (isPublic(address) && !isOwn(address, known)),
      );
      decided = { isAllowed, until: now() + DECIDED_MS };
      return isAllowed;
    },
  };
}

/** Our choice: judging an address asks the system for those of this machine. */
const DECIDED_MS = 1_000;

function onceEach(isAllowed: IsAllowed): IsAllowed {
  const verdicts = new Map<string, boolean>();
  return (address) => {
    const verdict = verdicts.get(address) ?? isAllowed(address);
    verdicts.set(address, verdict);
    return verdict;
  };
}

/** Throws UpstreamRefused for an address that a URL spells out, in whatever notation; a name is judged when it is looked up. */
export function refuseLiteral(url: URL, isAllowed: IsAllowed): void {
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(host)) throw refusalOf(host);
}

/**
 * Gives a socket the addresses that were judged, so that the name is not resolved a second time (DNS rebinding). One that is
 * not allowed spoils them all: which one is connected to is up to who answers first.
 */
export function guardedLookup(url: URL, lookup: Lookup, isAllowed: IsAllowed): LookupFunction {
  return (hostname, { all }, give) => {
    const fail = (error: NodeJS.ErrnoException) => give(error, all === true ? [] : '');
    addressesOf(url, lookup).then((addresses) => {
      const [first] = addresses;
      if (first === undefined) return fail(new Error(`${hostname} has no address`));
      const refused = addresses.find(({ address }) => !isAllowed(address));
      if (refused !== undefined) return fail(refusalOf(refused.address));
      if (all === true) return give(null, [...addresses]);
      return give(null, first.address, first.family);
    }, fail);
  };
}

function refusalOf(address: string): UpstreamRefused {
  return new UpstreamRefused(
    `${address} is not public, or is the platform's own or its storage's: where deploys are there, name it in UPSTREAM_NETWORKS`,
  );
}

/**
 * `prefix` is the path of an upstream's URL. Without one the request's path goes on byte for byte; behind one its dot
 * segments are resolved (RFC 3986, 5.2.4). Null where a deploy could still climb out of the prefix.
 */
export function upstreamPath(prefix: string, pathAndQuery: string): string | null {
  const before = prefix.replace(/\/$/, '');
  if (before === '') return pathAndQuery;
  const path = withoutDotSegments(pathAndQuery);
  return climbsWhenDecoded(path) ? null : before + path;
}

/**
 * Whether a deploy that decodes a path before it reads it, or takes a backslash for a slash, would climb by it. Dot segments
 * in plain sight are gone (withoutDotSegments).
 */
function climbsWhenDecoded(pathAndQuery: string): boolean {
  const [path = ''] = pathAndQuery.split('?', 1);
  return /(?:[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\;]|%2f|%5c|%3b)/i.test(path);
}

/** `.` and `..`, each dot perhaps as %2e, which is the same (RFC 3986, 6.2.2.2). */
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** The path with its dot segments resolved, byte for byte the same where it has none. Never climbs above the root. */
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
