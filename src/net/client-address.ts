/** The address of a client, also behind trusted proxies, and its group for rate limits. */

import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { reservedRange } from '../core/names/reserved-addresses.ts';

/** The connection is gone, so the response is not read. */
const UNKNOWN = 'unknown';
/** Longer than any address. Limits the cache below against client input. */
const MAX_LENGTH = 64;
/** Parsing takes up to 15 µs for every request, and most addresses were just seen. */
const MAX_REMEMBERED = 10_000;

/** As `membersOf`, for addresses that return. */
export function trustedProxies(networks: readonly string[]): (address: string) => boolean {
  return networks.length === 0 ? () => false : remembering(membersOf(networks));
}

/**
 * `networks`: addresses or `10.0.0.0/8`, as validated by src/config/config.ts. An IPv4-mapped address
 * counts as its IPv4 address; an invalid one matches none.
 */
export function membersOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/**
 * The rightmost address that is not a trusted proxy's: everything further left comes from the
 * client. An invalid entry ends the search at the proxy that sent it. In RFC 5952's form, or IPv4's
 * for an IPv4-mapped address; `unknown` without an address.
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

/** `networks`: of the trusted proxies. */
export function readClientAddress(networks: readonly string[]) {
  const trusted = trustedProxies(networks);
  return ({ headers, remoteAddress }: AddressedRequest) =>
    clientAddress(remoteAddress, headers['x-forwarded-for'], trusted);
}

type AddressedRequest = {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly remoteAddress: string | undefined;
};

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry) ?? [];
  return bracketed ?? plain ?? entry;
}

/** Empty if invalid. */
const canonical = remembering((text) => {
  const [address = ''] = text.split('%'); // a zone is local to the machine that saw it: RFC 4007, 6
  return isIP(address) === 0 ? '' : ipaddr.process(address).toString();
});

/** One machine can have all of a /64 (RFC 4291, 2.5.1). Takes the result of `clientAddress`. */
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

/** `host`: an address or a name. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

/** RFC 1918, RFC 4193, loopback and link-local ranges. */
const nearby: ReadonlySet<string | null> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'linkLocal',
]);

/** By the connection's address and `X-Forwarded-For`. */
export type IsNeighbor = (
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
) => boolean;

/** False through an untrusted proxy: it can be nearby, but its client anywhere. */
export function createIsNeighbor(trusted: (address: string) => boolean): IsNeighbor {
  return (remoteAddress, forwardedFor) => {
    const peer = clientAddress(remoteAddress, undefined, trusted);
    if (forwardedFor !== undefined && !trusted(peer)) return false;
    return nearby.has(reservedRange(clientAddress(remoteAddress, forwardedFor, trusted)));
  };
}
