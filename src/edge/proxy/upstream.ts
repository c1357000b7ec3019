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
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { hostOf, type Lookup } from '../../net/destination.ts';
import {
  type ProblemAt,
  portOf,
  type UpstreamReach,
  vettedAddresses,
} from '../../net/upstream-reach.ts';
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
  readonly problemAt: ProblemAt;
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
    open({ request, client, target, upstream, route }, { problemAt, trust }) {
      const parsed = parse(upstream);
      const { url, host } = parsed;
      refuseLiteral(parsed, problemAt);
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
        lookup: guardedLookup(url, lookup, problemAt),
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

type Parsed = { readonly url: URL; readonly host: string; readonly port: number };

/** URLs of deploys that are kept parsed. */
const PARSED_MAX = 1_000;

/** Reads an upstream's URL once while it is kept. Throws a TypeError for what is none. */
function createParser(): (upstream: string) => Parsed {
  const kept = new LRUCache<string, Parsed>({ max: PARSED_MAX });
  return (upstream) => {
    const known = kept.get(upstream);
    if (known !== undefined) return known;
    const url = new URL(upstream);
    const parsed = { url, host: hostOf(url), port: portOf(url) };
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

/** A deploy is where it must not be; `message` says where and what to do, in words that complete `upstream`. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused';
}

/** A request's path that no deploy below a path of its own is asked for. */
export class PathRefused extends Error {
  override readonly name = 'PathRefused';
}

/** Throws UpstreamRefused for an address that a URL spells out, in whatever notation; a name is judged when it is looked up. */
function refuseLiteral({ host, port }: Parsed, problemAt: ProblemAt): void {
  const problem = isIP(host) === 0 ? null : problemAt(host, port);
  if (problem !== null) throw new UpstreamRefused(problem);
}

/** Gives a socket the addresses that were judged, so that the name is not resolved a second time (DNS rebinding). */
function guardedLookup(url: URL, lookup: Lookup, problemAt: ProblemAt): LookupFunction {
  return (hostname, { all }, give) => {
    const fail = (error: NodeJS.ErrnoException) => give(error, all === true ? [] : '');
    vettedAddresses(url, lookup, problemAt).then(({ addresses, problem }) => {
      const [first] = addresses;
      if (first === undefined) return fail(new Error(`${hostname} has no address`));
      if (problem !== null) return fail(new UpstreamRefused(problem));
      if (all === true) return give(null, [...addresses]);
      return give(null, first.address, first.family);
    }, fail);
  };
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
