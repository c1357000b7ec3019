/** Opens requests to deploys over kept connections. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
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
   * A request as the client's, to be given its body. Throws UpstreamRefused, which may also be the request's error, where
   * the upstream is out of reach, and a TypeError for what is no URL.
   */
  readonly open: (passed: Passed, isAllowed: IsAllowed) => ClientRequest;
  readonly close: () => void;
};

/** Connections of their own; how long an answer may take is the caller's to say. */
export function createUpstreams({ lookup }: Pick<UpstreamReach, 'lookup'>): Upstreams {
  const http = new HttpAgent({ keepAlive: true });
  const https = new HttpsAgent({ keepAlive: true });
  return {
    open({ request, target, upstream, primary }, isAllowed) {
      const url = new URL(upstream);
      refuseLiteral(url, isAllowed);
      const host = hostOf(url);
      const options = {
        method: request.method ?? 'GET',
        host,
        port: url.port,
        path: url.pathname.replace(/\/$/, '') + target.path,
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
