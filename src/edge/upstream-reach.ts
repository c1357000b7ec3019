/**
 * Where a project's deploy may be. Its URL is the tenant's to choose, and the edge stands inside the platform: without
 * this, anybody with a deploy could read what the edge reaches and the internet does not (a database, a cloud's metadata).
 */
import { isIP, type LookupFunction } from 'node:net';
import type { Config } from '../config.ts';
import { trustedProxies as membersOf } from '../net/client-address.ts';
import { addressesOf, hostOf, isOwn, isPublic, type Lookup } from '../net/destination.ts';
import { createLookup } from '../net/lookup.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';

/** Whether an address may be connected to. */
export type IsAllowed = (address: string) => boolean;

export type UpstreamReach = {
  readonly lookup: Lookup;
  /** What the addresses of one request are judged by. */
  readonly judge: () => Promise<IsAllowed>;
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
    async judge() {
      const told = ownAddresses().then((addresses) => {
        own = addresses;
        return addresses;
      });
      told.catch(() => {}); // where nobody waits for it; the next request asks again
      const known = own ?? (await told);
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
export function judgedLookup(url: URL, lookup: Lookup, isAllowed: IsAllowed): LookupFunction {
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
