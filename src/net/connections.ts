/** How many connections may be open at once: altogether, from one address, and by the descriptors that a process may have. */

import { readFileSync } from 'node:fs';
import { addressGroup, clientAddress } from './client-address.ts';
import { createKeyedCount } from './keyed-count.ts';

/** Connections that may be open at once. */
export type ConnectionLimits = {
  /** From everywhere, exempt addresses among them. */
  readonly total: number;
  /** From one IPv4 address, or from one /64 of IPv6. */
  readonly perAddress: number;
};

/**
 * Our choice: `total` connections that all wait with as much as a connection may hold (src/http/socket/server.ts) fit into
 * some 300 MB; `perAddress` lets ten addresses fill it and no fewer, and is more than any browser or pool of a client opens.
 */
export const defaultConnectionLimits: ConnectionLimits = { total: 2_000, perAddress: 200 };

/** The connections that are open now. */
export type ConnectionCount = {
  /** Counts a connection in and returns what counts it out, once however often it is called; null where it is one too many. */
  admit(remoteAddress: string | undefined): (() => void) | null;
};

/** `isExempt` addresses, which stand for many clients each, fill the total and have no limit of their own. */
export function countConnections(
  { total, perAddress }: ConnectionLimits,
  isExempt: (address: string) => boolean,
): ConnectionCount {
  const open = createKeyedCount({ total, perKey: perAddress });
  return {
    admit(remoteAddress) {
      const address = clientAddress(remoteAddress, undefined, isExempt);
      const most = isExempt(address) ? total : perAddress;
      const admitted = open.admit(addressGroup(address), most);
      return typeof admitted === 'function' ? admitted : null;
    },
  };
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs a permission that this user does not have',
  EADDRNOTAVAIL: 'cannot be opened: HOST is no address of this machine',
  ENOTFOUND: 'cannot be opened: HOST is no address and no known name',
};

/** The variables that choose a port. */
export type PortVariable =
  | 'PORT'
  | 'METRICS_PORT'
  | 'EDGE_HTTP_PORT'
  | 'EDGE_HTTPS_PORT'
  | 'EDGE_CADDY_ADDRESS';

/** What chooses the address of a port. */
function addressVariable(variable: PortVariable): string {
  return variable === 'EDGE_CADDY_ADDRESS' ? variable : 'HOST';
}

/** Names the variable, the port, the address and the system's error code; what the system said is its cause. */
export function listenFault(
  variable: PortVariable,
  host: string,
  port: number,
  cause: unknown,
): Error {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no error code';
  const reason = (reasons[code] ?? 'cannot be opened').replace('HOST', addressVariable(variable));
  return new Error(`${variable} ${port} on ${host} ${reason} (${code})`, { cause });
}

/**
 * The soft limit of this process (RLIMIT_NOFILE), which Node.js raises to the hard one when it starts. Infinity where it is
 * unlimited or cannot be read: only Linux shows it as a file.
 */
export function descriptorLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Descriptors for each kind of peer. What is in none of them is the reserve. */
export type DescriptorShares = {
  readonly visitors: number;
  readonly upstreams: number;
  readonly api: number;
};

/** Our choice: PostgreSQL, Redis, name servers and files of a process with every role; a quarter of a small limit. */
const RESERVE_MAX = 1_024;

/**
 * Divides what a reserve leaves: a visitor may need an upstream, and the API has fewer clients than the edge has visitors.
 */
export function shareDescriptors(limit: number): DescriptorShares {
  const left = limit - Math.min(RESERVE_MAX, limit / 4);
  return {
    visitors: Math.floor(left * 0.45),
    upstreams: Math.floor(left * 0.45),
    api: Math.floor(left * 0.1),
  };
}
