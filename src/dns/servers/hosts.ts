/** The addresses of a zone's name servers. */
import { isIPv4 } from 'node:net';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import type { QueryBudget } from '../wire/budget.ts';
import { createShared, type Loaded } from '../wire/shared.ts';
import type { Family } from '../wire/udp-sockets.ts';
import type { Recursive } from './recursive.ts';
import { type Failure, failureOf, type NameServer } from './reply.ts';
import { recordsAt, serverAddresses, shortestTtl } from './select.ts';
import { CACHE_MAX, loadedFailure, rememberMs } from './zone.ts';

/** `reserved`: only addresses that must not be queried. `failed`: the resolver failed. */
export type HostAddress =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'none' }
  /** The name is an alias, so it has no addresses itself (RFC 2181, 10.3). */
  | { readonly kind: 'alias' }
  | { readonly kind: 'reserved'; readonly address: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type Hosts = {
  /**
   * The first allowed address in text order, so every check uses the same one. Glue takes
   * precedence over resolvers. Network failures do not reject it.
   */
  readonly find: (server: NameServer, family: Family, budget: QueryBudget) => Promise<HostAddress>;
  /** Whether an address from any source can be queried. */
  readonly mayAsk: (address: string) => boolean;
};

export type HostsOptions = {
  readonly recursive: Recursive;
  /** For test labs. Otherwise a zone could point to our own network. */
  readonly allowPrivate: boolean;
};

/** One per process: large providers use the same servers for thousands of zones. */
export function createHosts({ recursive, allowPrivate }: HostsOptions): Hosts {
  const known = createShared<Found>({ max: CACHE_MAX });

  const mayAsk = (address: string) => allowPrivate || reservedRange(address) === null;

  async function find(
    server: NameServer,
    family: Family,
    budget: QueryBudget,
  ): Promise<HostAddress> {
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

type Found = readonly string[] | 'alias' | Failure;

/** A name server's name must not be an alias (RFC 2181, 10.3): only its own addresses count. */
async function lookup(
  recursive: Recursive,
  name: string,
  family: Family,
  budget: QueryBudget,
): Promise<Loaded<Found>> {
  const type = family === 4 ? 'A' : 'AAAA';
  const { reply } = await recursive.ask(name, type, budget);
  if (reply.kind !== 'message') return loadedFailure(failureOf(reply));
  const records = recordsAt(reply.message.answers, name, type);
  if (records.length === 0) {
    const isAlias = recordsAt(reply.message.answers, name, 'CNAME').length > 0;
    return loadedFailure(isAlias ? 'alias' : []);
  }
  const value = serverAddresses(records, name);
  return { value, ttlMs: rememberMs(shortestTtl(records)), failed: false };
}
