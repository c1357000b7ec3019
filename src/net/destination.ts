/**
 * Checks webhook destinations. Otherwise a webhook could make us call our own network or a cloud's
 * metadata service ("Server side request forgery" in Standard Webhooks).
 */
import { type LookupAddress, NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { SocketAddress } from '../config/config.ts';
import { reservedRange } from '../core/names/reserved-addresses.ts';
import { membersOf } from './client-address.ts';
import { createIsListener, type Listeners, machineAddresses } from './own-addresses.ts';

export type ReceiverRules = {
  /** For test labs: allows http, private addresses and every port. */
  readonly allowPrivate: boolean;
};

/** Lower ports belong to system services (RFC 6335, 6). */
const FIRST_FREE_PORT = 1_024;

/** Rejects without a usable answer. */
export type Lookup = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Azure's virtual public address, reachable only from its customers' machines. */
const CLOUD_ADDRESS = '168.63.129.16';

/** False if it is invalid. */
export function isPublic(address: string): boolean {
  return reservedRange(address) === null && address !== CLOUD_ADDRESS;
}

/** One of `others` (src/net/own-addresses.ts), or a current address of this machine. */
export function isOwn(address: string, others: readonly string[]): boolean {
  return membersOf([...others, ...machineAddresses()])(address);
}

/** `own_port`: Signpost or its storage listens there. `private`: not public, or the platform's. */
export type DestinationKind = 'allowed' | 'private' | 'own_port';

export type ClassifyDestination = (address: string, port: number) => DestinationKind;

type DestinationRules = {
  /** Of the platform and its storage. */
  readonly addresses: readonly string[];
  readonly listeners: readonly Listeners[];
  /** Allowed although it is not public. */
  readonly isNamed: (address: string) => boolean;
};

/** For every connection to an address that a customer chose; probes have their own rule. */
export function createClassify(rules: DestinationRules): ClassifyDestination {
  const { addresses, listeners, isNamed } = rules;
  const isListener = createIsListener(listeners, { withEdge: true });
  return (address, port) => {
    if (isListener(address, port)) return 'own_port';
    const isAllowed = isNamed(address) || (isPublic(address) && !isOwn(address, addresses));
    return isAllowed ? 'allowed' : 'private';
  };
}

/**
 * The problem of a URL, worded to follow a field's name. Checks literal addresses in any notation
 * (`https://2130706433/`), since URLs normalize them; names are checked at each attempt. Never
 * throws.
 */
export function urlProblem(text: string, { allowPrivate }: ReceiverRules): string | null {
  if (!URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return 'must be an https URL';
  }
  if (`${url.username}${url.password}` !== '') return 'must not contain credentials';
  // An empty fragment leaves url.hash empty.
  if (url.href.includes('#')) return 'must not have a fragment';
  const host = hostOf(url);
  if (allowPrivate) return null;
  if (isLocalhost(host) || (isIP(host) !== 0 && !isPublic(host))) {
    return 'must not point to a private network';
  }
  // Lower ports are mail, databases and the like.
  const isUsual = url.port === '' || Number(url.port) >= FIRST_FREE_PORT;
  return isUsual ? null : 'must use port 443, or 1024 or higher';
}

/** For the DNS and sockets: IPv6 without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** A literal address, or the result of `lookup`, which can reject. */
export async function addressesOf(url: URL, lookup: Lookup): Promise<readonly LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  // Never sent to a server (RFC 6761, 6.3).
  if (isLocalhost(host)) return [{ address: '127.0.0.1', family: 4 }];
  return lookup(host);
}

function isLocalhost(host: string): boolean {
  return /^(.+\.)?localhost\.?$/.test(host);
}

/** Per try and server; the whole attempt has 10 s. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Default: the system's servers. Not `dns.lookup`, which uses one of the process's four shared
 * threads, so a few unresponsive names would block everything; it also reads the hosts file.
 */
export function createLookup(servers: readonly SocketAddress[]): Lookup {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers.map(inNodesWords));
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
    // One address family is enough, even if the servers fail for the other.
    const found = [...of(four, 4), ...of(six, 6)];
    const failed = [four, six].find((one) => one.status === 'rejected' && !isNone(one.reason));
    if (found.length === 0 && failed?.status === 'rejected') throw failed.reason;
    return found;
  };
}

function of(settled: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  const addresses = settled.status === 'fulfilled' ? settled.value : [];
  return addresses.map((address) => ({ address, family }));
}

/** NXDOMAIN and NODATA. Other errors say nothing about the name. */
function isNone(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? fault.code : null;
  return code === NOTFOUND || code === NODATA;
}

function inNodesWords({ address, port }: SocketAddress): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
