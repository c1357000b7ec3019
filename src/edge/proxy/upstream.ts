/** Opens requests to deploys over kept connections. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Config } from '../../config/config.ts';
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
import { upstreamPath } from './upstream-path.ts';

/** What a request is passed on with. */
export type Passed = {
  readonly request: IncomingMessage;
  readonly target: RequestTarget;
  /** An http or https URL. */
  readonly upstream: string;
  /** The project's primary domain. */
  readonly primary: string | null;
};

export type Upstreams = {
  /**
   * A request as the client's, to be given its body. Throws PathRefused; UpstreamRefused, which may also be the request's
   * error, where the upstream is out of reach; and a TypeError for what is no URL.
   */
  readonly open: (passed: Passed, isAllowed: IsAllowed) => ClientRequest;
  readonly close: () => void;
};

/** Connections of their own; how long an answer may take is the caller's to say. */
export function createUpstreams({ lookup }: Pick<UpstreamReach, 'lookup'>): Upstreams {
  const kept = { keepAlive: true, maxFreeSockets: IDLE_MAX.origin, timeout: IDLE_MS };
  const http = boundIdle(new HttpAgent(kept));
  const https = boundIdle(new HttpsAgent(kept));
  return {
    open({ request, target, upstream, primary }, isAllowed) {
      const url = new URL(upstream);
      refuseLiteral(url, isAllowed);
      const host = hostOf(url);
      const path = upstreamPath(url.pathname, target.path);
      if (path === null) throw new PathRefused('it leads out of the path of its upstream');
      const options = {
        method: request.method ?? 'GET',
        host,
        port: url.port,
        path,
        headers: upstreamHeaders(request, target.authority, primary),
        lookup: guardedLookup(url, lookup, isAllowed),
      };
      if (url.protocol !== 'https:') return httpRequest({ ...options, agent: http });
      // Without this Node would ask the deploy for the customer's domain, which stands in Host.
      const servername = isIP(host) === 0 ? host : '';
      return httpsRequest({ ...options, servername, agent: https });
    },
    close() {
      http.destroy();
      https.destroy();
    },
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
 * wait for the first look-up of our own addresses, and for none after it: while one is under way the last one's count.
 */
export function upstreamReach(
  { dns, upstreams }: Pick<Config, 'dns' | 'upstreams'>,
  ownAddresses: OwnAddresses,
): UpstreamReach {
  const isNamed = membersOf(upstreams.networks);
  let own: readonly string[] | null = null;
  return {
    lookup: createLookup(dns.servers),
    async decide() {
      const resolved = ownAddresses().then((addresses) => {
        own = addresses;
        return addresses;
      });
      resolved.catch(() => {}); // where nobody waits for it; the next request asks again
      const known = own ?? (await resolved);
      return (address) => isNamed(address) || (isPublic(address) && !isOwn(address, known));
    },
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
