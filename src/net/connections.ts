/** Limits of concurrent connections: in total, per address, and by file descriptors. */

import { readFileSync } from 'node:fs';
import { addressGroup, clientAddress } from './client-address.ts';
import { createKeyedCount } from './keyed-count.ts';

export type ConnectionLimits = {
  /** Includes exempt addresses. */
  readonly total: number;
  /** From one IPv4 address, or one /64 of IPv6. */
  readonly perAddress: number;
};

/** `total` connections with full buffers fit into some 300 MB. */
export const defaultConnectionLimits: ConnectionLimits = { total: 2_000, perAddress: 200 };

export type ConnectionCount = {
  /** Returns the function that releases the connection (idempotent); null if a limit is reached. */
  admit(remoteAddress: string | undefined): (() => void) | null;
};

/** `isExempt`: addresses that stand for many clients each; they count toward the total only. */
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
  EACCES: 'needs a permission that this user lacks',
  EADDRNOTAVAIL: 'cannot be opened: HOST is not an address of this machine',
  ENOTFOUND: 'cannot be opened: HOST is neither an address nor a known name',
};

export type PortVariable =
  | 'PORT'
  | 'METRICS_PORT'
  | 'EDGE_HTTP_PORT'
  | 'EDGE_HTTPS_PORT'
  | 'EDGE_CADDY_ADDRESS';

function addressVariable(variable: PortVariable): string {
  return variable === 'EDGE_CADDY_ADDRESS' ? variable : 'HOST';
}

/** `cause` has the system's error. */
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

/** The soft limit, which Node.js raises to the hard limit. Infinity if unknown. */
export function descriptorLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The rest is the reserve. */
export type DescriptorShares = {
  readonly visitors: number;
  readonly upstreams: number;
  readonly api: number;
};

/** For PostgreSQL, Redis, name servers and files of a process with every role. */
const RESERVE_MAX = 1_024;

/** A visitor can need an upstream, and the API has fewer clients than the edge. */
export function shareDescriptors(limit: number): DescriptorShares {
  const left = limit - Math.min(RESERVE_MAX, limit / 4);
  return {
    visitors: Math.floor(left * 0.45),
    upstreams: Math.floor(left * 0.45),
    api: Math.floor(left * 0.1),
  };
}

/** RFC 9112, 6.1: node:http only decodes chunked. `coding`: the Transfer-Encoding field. */
export function isSupportedCoding(coding: string | undefined): boolean {
  return coding === undefined || coding.trim().toLowerCase() === 'chunked';
}
