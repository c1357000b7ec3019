/**
 * Where the platform is for everybody else, and where its storage is: nothing that a tenant chooses may lead us there.
 * Behind NAT, or in a container, no interface of this machine has the address that visitors go to; only the DNS shows it.
 */
import { lookup as lookupLocally } from 'node:dns/promises';
import type { Config } from '../config/config.ts';

/** Returns the platform's own addresses at the moment, but for those of this machine. */
export type OwnAddresses = () => Promise<readonly string[]>;

/** What they are found by. */
export type OwnAddressesParts = {
  readonly config: Pick<Config, 'platform' | 'storage'>;
  /** As the rest of the world resolves a name; none where no resolver gave a usable answer. */
  readonly observer: { lookupAddresses(hostname: string): Promise<readonly string[]> };
  /** The target of a domain: any one resolves to the addresses of all. */
  targetFor(projectId: string, hostname: string): string;
  now(): Date;
};

/**
 * Returns PLATFORM_ADDRESSES, or what a target resolves to (which one is all the same, because one record is that of all);
 * and what the hosts of DATABASE_URL and REDIS_URL resolve to here. Asked again as time goes by, so it is a function.
 */
export function composeOwnAddresses(parts: OwnAddressesParts): OwnAddresses {
  const { config, observer, targetFor, now } = parts;
  const { addresses, domain } = config.platform;
  const edge = { hostname: targetFor('webhooks', domain), lookup: observer.lookupAddresses, now };
  const asked = [
    ...(addresses.length > 0 ? [] : [rememberAddresses(edge)]),
    ...storageHosts(config.storage).map((hostname) =>
      rememberAddresses({ hostname, lookup: asThisMachine, now }),
    ),
  ];
  return async () => [...addresses, ...(await Promise.all(asked.map((ask) => ask()))).flat()];
}

/** The hosts of storage that is not our own process; a path of a socket is none that resolves. */
function storageHosts(storage: Config['storage']): readonly string[] {
  if (storage.kind === 'embedded') return [];
  const urls = [storage.databaseUrl, ...('redisUrl' in storage ? [storage.redisUrl] : [])];
  // `?host=` in place of the URL's own is libpq's, and node-postgres's, too.
  const hosts = urls.map((text) => {
    const url = new URL(text);
    return url.searchParams.get('host') ?? url.hostname.replace(/^\[(.*)\]$/, '$1');
  });
  return hosts.filter((host) => host !== '');
}

/** As the clients of databases resolve their host: by the hosts file, too. */
async function asThisMachine(hostname: string): Promise<readonly string[]> {
  const found = await lookupLocally(hostname, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** A name, and how it is resolved. */
export type RememberedDeps = {
  readonly hostname: string;
  /** None where it found no usable answer. */
  readonly lookup: (hostname: string) => Promise<readonly string[]>;
  now(): Date;
};

/** For as long as resolvers keep what `signpost zone` prints, unless its TTL is changed. */
const REMEMBERED_MS = 300_000;
/** Our choice: soon again where there was no usable answer, and not at each attempt. */
const UNKNOWN_MS = 30_000;

/**
 * Returns what a name resolves to, resolved when it is asked for, by one at a time, and kept for five minutes. Addresses
 * that were found once hold until others are found. Before, there are none where `lookup` found none, and where `lookup`
 * failed it rejects with that fault; either way nobody is asked again for half a minute.
 */
export function rememberAddresses(deps: RememberedDeps): OwnAddresses {
  let known: readonly string[] = [];
  let fault: { readonly cause: unknown } | null = null;
  let staleAt = 0;
  let underWay: Promise<void> | null = null;

  async function refresh(): Promise<void> {
    let found: readonly string[] = [];
    try {
      found = await deps.lookup(deps.hostname);
      fault = null;
    } catch (cause) {
      fault = { cause };
    }
    if (found.length > 0) known = found;
    staleAt = deps.now().getTime() + (found.length > 0 ? REMEMBERED_MS : UNKNOWN_MS);
  }

  return async () => {
    if (deps.now().getTime() >= staleAt) {
      underWay ??= refresh().finally(() => {
        underWay = null;
      });
      await underWay;
    }
    if (fault !== null && known.length === 0) throw fault.cause;
    return known;
  };
}
