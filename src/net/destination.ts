/**
 * Where a webhook may lead. Whoever may make one would otherwise have us call anything that we can reach: our own
 * network, a cloud's metadata, another tenant ("Server side request forgery" in Standard Webhooks).
 */
import { type LookupAddress, NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { SocketAddress } from '../config/config.ts';
import { isThisMachine, reservedRange } from '../core/names/reserved-addresses.ts';

/** What a receiver of webhooks may be. */
export type ReceiverRules = {
  /** Laboratories only: http, private addresses and every port are fine. */
  readonly allowPrivate: boolean;
};

/** Below are the ports of services that machines run themselves (RFC 6335, 6). */
const FIRST_FREE_PORT = 1_024;

/** Returns the addresses of a host name, none where it has none. Rejects where no server gave a usable answer. */
export type Lookup = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Azure's virtual public address, which answers the machines of its customers alone. */
const CLOUD_ADDRESS = '168.63.129.16';

/** Whether anybody on the internet could be meant by an address; false for what is no address. */
export function isPublic(address: string): boolean {
  return reservedRange(address) === null && address !== CLOUD_ADDRESS;
}

/** Whether an address is ours: one of `others` (src/net/own-addresses.ts), or one that this machine has at the moment. */
export function isOwn(address: string, others: readonly string[]): boolean {
  if (isThisMachine(address)) return true;
  const machine = Object.values(networkInterfaces()).flatMap((all = []) => all);
  const own = new BlockList();
  for (const one of [...others, ...machine.map((each) => each.address)]) {
    own.addAddress(one, isIPv6(one) ? 'ipv6' : 'ipv4');
  }
  return own.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * Returns what is wrong with a URL, in words; null where nothing is. An address that the URL spells out is checked here in
 * whatever notation (`https://2130706433/`), because URLs have one form for all of them; a name is at each attempt. Never
 * throws.
 */
export function urlProblem(text: string, { allowPrivate }: ReceiverRules): string | null {
  if (!URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return 'must be an https URL';
  }
  if (`${url.username}${url.password}` !== '') return 'must not carry credentials';
  // An empty fragment leaves url.hash empty.
  if (url.href.includes('#')) return 'must not have a fragment';
  const host = hostOf(url);
  if (allowPrivate) return null;
  if (isLocalhost(host) || (isIP(host) !== 0 && !isPublic(host))) {
    return 'must not lead to a private network';
  }
  // Mail, databases and the like below it are no receivers.
  const isUsual = url.port === '' || Number(url.port) >= FIRST_FREE_PORT;
  return isUsual ? null : 'must have the port 443, or one from 1024 on';
}

/** Returns the host of a URL as the DNS and sockets want it: IPv6 without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Returns every address of the URL's host: itself where it is one, else what `lookup` gives, rejecting as that does. */
export async function addressesOf(url: URL, lookup: Lookup): Promise<readonly LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  // Never asked of a server (RFC 6761, 6.3).
  if (isLocalhost(host)) return [{ address: '127.0.0.1', family: 4 }];
  return lookup(host);
}

/** Whether a name is always this machine's (RFC 6761, 6.3). */
export function isLocalhost(host: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(host);
}

/** For each try at each server. Our choice: the whole attempt has 10 s. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Asks the recursive servers over the network; the system's where the list is empty. Not `dns.lookup`: that waits in one of
 * four threads that the whole process shares, so a few names whose servers are silent would hold up everybody; and it
 * believes the hosts file.
 */
export function createLookup(servers: readonly SocketAddress[]): Lookup {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers.map(inNodesWords));
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    // One family is enough: a host without the other, or whose servers fail for it, is reached all the same.
    const found = [...of(four, 4), ...of(six, 6)];
    const untold = [four, six].find((one) => one.status === 'rejected' && !isNone(one.reason));
    if (found.length === 0 && untold?.status === 'rejected') throw untold.reason;
    return found;
  };
}

function of(settled: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  const addresses = settled.status === 'fulfilled' ? settled.value : [];
  return addresses.map((address) => ({ address, family }));
}

/** NXDOMAIN and NODATA. Everything else says nothing about the name. */
function isNone(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? fault.code : null;
  return code === NOTFOUND || code === NODATA;
}

function inNodesWords({ address, port }: SocketAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
