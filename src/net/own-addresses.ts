/**
 * The platform's public addresses and those of its storage: a tenant's URL must not lead there.
 * Behind NAT or in a container, only the DNS shows the public address.
 */
import { lookup as lookupLocally } from 'node:dns/promises';
import type { Config } from '../config/config.ts';
import { createSingleFlight } from './load-once.ts';

/** Without those of this machine. */
export type OwnAddresses = () => Promise<readonly string[]>;

export type OwnAddressesParts = {
  readonly config: Pick<Config, 'platform' | 'storage'>;
  /** Public resolution of a name; empty without a usable answer. */
  readonly observer: { lookupAddresses(hostname: string): Promise<readonly string[]> };
  /** All targets have the same addresses. */
  targetFor(projectId: string, hostname: string): string;
  now(): Date;
};

/** Of the platform, and of the hosts of DATABASE_URL and REDIS_URL as resolved here. */
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

/** Socket paths don't resolve. */
function storageHosts(storage: Config['storage']): readonly string[] {
  if (storage.kind === 'embedded') return [];
  const urls = [storage.databaseUrl, ...('redisUrl' in storage ? [storage.redisUrl] : [])];
  // libpq and node-postgres accept `?host=` in place of the URL's host.
  const hosts = urls.map((text) => {
    const url = new URL(text);
    return url.searchParams.get('host') ?? url.hostname.replace(/^\[(.*)\]$/, '$1');
  });
  return hosts.filter((host) => host !== '');
}

/** Like database clients, includes the hosts file. */
async function asThisMachine(hostname: string): Promise<readonly string[]> {
  const found = await lookupLocally(hostname, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

export type RememberedDeps = {
  readonly hostname: string;
  /** Empty without a usable answer. */
  readonly lookup: (hostname: string) => Promise<readonly string[]>;
  now(): Date;
};

/** As long as resolvers cache the records of `signpost zone` with the default TTL. */
const ADDRESSES_REMEMBERED_MS = 300_000;
/** Retries soon without a usable answer, but not at each attempt. */
const UNKNOWN_MS = 30_000;

/**
 * Resolved on demand, one query at a time. Found addresses stay valid until others are found.
 * Before that, returns none, or rejects if `lookup` did; either way, retries only after a pause.
 */
export function rememberAddresses(deps: RememberedDeps): OwnAddresses {
  let known: readonly string[] = [];
  let fault: { readonly cause: unknown } | null = null;
  let staleAt = 0;
  const share = createSingleFlight<void>();

  async function refresh(): Promise<void> {
    let found: readonly string[] = [];
    try {
      found = await deps.lookup(deps.hostname);
      fault = null;
    } catch (cause) {
      fault = { cause };
    }
    if (found.length > 0) known = found;
    staleAt = deps.now().getTime() + (found.length > 0 ? ADDRESSES_REMEMBERED_MS : UNKNOWN_MS);
  }

  return async () => {
    if (deps.now().getTime() >= staleAt) await share(deps.hostname, refresh);
    if (fault !== null && known.length === 0) throw fault.cause;
    return known;
  };
}
