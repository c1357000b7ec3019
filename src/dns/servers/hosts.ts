/** Where a zone's name servers are: the addresses of their names, from the delegation or from a resolver. */
import { isIPv4 } from 'node:net';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import type { Budget } from '../wire/budget.ts';
import { createShared, type Loaded } from '../wire/shared.ts';
import type { Recursive } from './recursive.ts';
import { type Failure, failureOf, type NameServer } from './reply.ts';
import { addressesOf, recordsAt, shortestTtl } from './select.ts';
import { CACHE_MAX, failed, rememberMs } from './zone.ts';

/** The version of IP. */
export type Family = 4 | 6;

/**
 * Where a server is asked. `none`: it has no address of this family. `reserved`: it has some, but none that may be
 * asked; `address` is the first of them. `failed`: the resolver could not tell.
 */
export type HostAddress =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'none' }
  /** The server's name is an alias, which must not be (RFC 2181, 10.3). */
  | { readonly kind: 'alias' }
  | { readonly kind: 'reserved'; readonly address: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Finds name servers. */
export type Hosts = {
  /**
   * Resolves with the first address of the family, sorted as text, that may be asked, so that every check asks the same
   * one. Glue outweighs what resolvers say. Never rejects for what the network does.
   */
  readonly find: (server: NameServer, family: Family, budget: Budget) => Promise<HostAddress>;
  /** Whether an address, wherever it comes from, may be asked at all. */
  readonly mayAsk: (address: string) => boolean;
};

/** Who knows addresses, and which of them may be asked. */
export type HostsOptions = {
  readonly recursive: Recursive;
  /**
   * Also asks name servers at private and reserved addresses (laboratories). Otherwise a zone could aim us at our own
   * network.
   */
  readonly allowPrivate: boolean;
};

/** One is enough for a process: the servers of large providers are those of thousands of zones. */
export function createHosts({ recursive, allowPrivate }: HostsOptions): Hosts {
  const known = createShared<Found>({ max: CACHE_MAX });

  const mayAsk = (address: string) => allowPrivate || reservedRange(address) === null;

  async function find(server: NameServer, family: Family, budget: Budget): Promise<HostAddress> {
    const addresses =
      server.glue.length > 0
        ? server.glue.filter((address) => isIPv4(address) === (family === 4))
        : await known.get(`${family} ${server.name}`, budget, () =>
            lookup(recursive, server.name, family, budget),
          );
    if (addresses === 'alias') return { kind: 'alias' };
    if ('kind' in addresses) return { kind: 'failed', failure: addresses };
    const sorted = addresses.toSorted();
    const [first] = sorted;
    if (first === undefined) return { kind: 'none' };
    const address = sorted.find(mayAsk);
    return address === undefined
      ? { kind: 'reserved', address: first }
      : { kind: 'address', address };
  }

  return { find, mayAsk };
}

/** The addresses of a name, or why there are none. */
type Found = readonly string[] | 'alias' | Failure;

/** A name server's name must not be an alias (RFC 2181, 10.3): only addresses of its own count. */
async function lookup(
  recursive: Recursive,
  name: string,
  family: Family,
  budget: Budget,
): Promise<Loaded<Found>> {
  const type = family === 4 ? 'A' : 'AAAA';
  const { reply } = await recursive.ask(name, type, budget);
  if (reply.kind !== 'message') return failed(failureOf(reply));
  const records = recordsAt(reply.message.answers, name, type);
  if (records.length === 0) {
    return failed(recordsAt(reply.message.answers, name, 'CNAME').length > 0 ? 'alias' : []);
  }
  const value = addressesOf(records, name);
  return { value, ttlMs: rememberMs(shortestTtl(records)), failed: false };
}
