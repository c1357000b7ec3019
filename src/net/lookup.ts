/** The addresses of receivers. */
import { type LookupAddress, NODATA, NOTFOUND } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { SocketAddress } from '../config.ts';
import type { Lookup } from './destination.ts';

/** Our choice: the whole attempt has 10 s. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Asks the recursive servers over the network. Not `dns.lookup`: that waits in one of four threads that the whole process
 * shares, so a few names whose servers are silent would hold up everybody; and it believes the hosts file.
 */
export function createLookup(servers: readonly SocketAddress[]): Lookup {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers.map(inNodesWords));
  return async (hostname) => {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(hostname),
      resolver.resolve6(hostname),
    ]);
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
