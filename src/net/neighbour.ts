/** Who asks from this machine or its own network, for what is nobody else's business. */
import { reservedRange } from '../core/reserved-addresses.ts';
import { clientAddress } from './client-address.ts';

/** RFC 1918 and RFC 4193, and what never leaves a machine or a link. */
const nearby: ReadonlySet<string | null> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'linkLocal',
]);

export type IsNeighbour = (
  remoteAddress: string | undefined,
  forwardedFor: string | undefined,
) => boolean;

/**
 * Whether the client is nearby. What a proxy passes on whose word is not trusted is not: the proxy may be nearby, and its
 * client anywhere.
 */
export function createIsNeighbour(trusted: (address: string) => boolean): IsNeighbour {
  return (remoteAddress, forwardedFor) => {
    const peer = clientAddress(remoteAddress, undefined, trusted);
    if (forwardedFor !== undefined && !trusted(peer)) return false;
    return nearby.has(reservedRange(clientAddress(remoteAddress, forwardedFor, trusted)));
  };
}
