/** Who is asking, as an address: behind trusted proxies the one that they saw, and the group that it is counted in. */

import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { reservedRange } from '../core/names/reserved-addresses.ts';

/** What a client without an address is counted as: its connection is gone, and nobody reads the answer. */
const UNKNOWN = 'unknown';
/** Longer than any address: 45 characters, a zone. What a client sends must not fill the memory below. */
const MAX_LENGTH = 64;
/** Our choice: parsing takes up to 15 µs, every request asks, and most come from an address that was just seen. */
const MAX_REMEMBERED = 10_000;

/** Whether an address is in one of `networks`: addresses or `10.0.0.0/8`, as src/config/config.ts has checked them. */
export function trustedProxies(networks: readonly string[]): (address: string) => boolean {
  if (networks.length === 0) return () => false;
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return remembering((address) => isIP(address) !== 0 && list.check(address, familyOf(address)));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/**
 * Returns the rightmost address that is no trusted proxy's: each proxy appends whom it saw, so that what stands further left
 * is the client's own word. An entry that is no address ends the walk at the proxy that passed it on. The form is RFC
 * 5952's, and IPv4's for an IPv4-mapped address; `unknown` where the connection has none.
 */
export function clientAddress(
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
  trusted: (address: string) => boolean,
): string {
  let address = canonical(remoteAddress ?? '') || UNKNOWN;
  let rest = forwardedFor ?? '';
  while (rest !== '' && trusted(address)) {
    const comma = rest.lastIndexOf(',');
    const entry = rest.slice(comma + 1).trim();
    const seen = entry.length > MAX_LENGTH ? '' : canonical(withoutPort(entry));
    if (seen === '') break;
    address = seen;
    rest = rest.slice(0, Math.max(comma, 0));
  }
  return address;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}

/** Empty where it is no address. */
const canonical = remembering((text) => {
  const [address = ''] = text.split('%'); // a zone is that of the machine that saw it: RFC 4007, 6
  return isIP(address) === 0 ? '' : ipaddr.process(address).toString();
});

/**
 * Returns what an address is counted in: an IPv4 address by itself, an IPv6 address with its whole /64, because one machine
 * can have all of these (RFC 4291, 2.5.1). It takes what `clientAddress` gives.
 */
export const addressGroup: (address: string) => string = remembering((address) =>
  isIP(address) === 6 ? `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`)}/64` : address,
);

function remembering<Result extends string | boolean>(
  ask: (address: string) => Result,
): (address: string) => Result {
  const answers = new LRUCache<string, Result>({ max: MAX_REMEMBERED });
  return (address) => {
    let answer = answers.get(address);
    if (answer === undefined) {
      answer = ask(address);
      answers.set(address, answer);
    }
    return answer;
  };
}

/** RFC 1918 and RFC 4193, and what never leaves a machine or a link. */
const nearby: ReadonlySet<string | null> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'linkLocal',
]);

/** Whether a request comes from nearby, by its connection's address and its `X-Forwarded-For`. */
export type IsNeighbour = (
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
) => boolean;

/**
 * Whether a client is on this machine, its link or a private network. What a proxy passes on whose word is not trusted is
 * not: the proxy may be nearby, and its client anywhere.
 */
export function createIsNeighbour(trusted: (address: string) => boolean): IsNeighbour {
  return (remoteAddress, forwardedFor) => {
    const peer = clientAddress(remoteAddress, undefined, trusted);
    if (forwardedFor !== undefined && !trusted(peer)) return false;
    return nearby.has(reservedRange(clientAddress(remoteAddress, forwardedFor, trusted)));
  };
}
