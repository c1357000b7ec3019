/**
 * The platform's public addresses, those of its storage, and the ports on which both listen: a
 * tenant's URL must not lead there. Behind NAT or in a container, only the DNS shows the public
 * address.
 */
import { lookup as lookupLocally } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Config } from '../config/config.ts';
import { type Role, roleNames } from '../core/operations/roles.ts';
import { membersOf } from './client-address.ts';
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
    ...storagePlaces(config.storage).map(({ hostname }) =>
      rememberAddresses({ hostname, lookup: asThisMachine, now }),
    ),
  ];
  return async () => [...addresses, ...(await Promise.all(asked.map((ask) => ask()))).flat()];
}

/** Ports on which one part of the installation listens, at each of its addresses. */
export type Listeners = {
  readonly addresses: readonly string[];
  readonly ports: ReadonlySet<number>;
  /** Of the edge: probes connect to them. */
  readonly edgePorts: ReadonlySet<number>;
};

/** Never rejects. */
export type OwnListeners = () => Promise<readonly Listeners[]>;

/** Of this process; roles add what they bind. */
export type OwnPorts = { readonly inside: Set<number>; readonly edge: Set<number> };

type OwnPortsConfig = Pick<Config, 'edge' | 'http' | 'metrics'>;

/** As configured here, of a process with these roles. */
export function configuredPorts(
  { edge, http, metrics }: OwnPortsConfig,
  roles: readonly Role[],
): OwnPorts {
  const isEdge = roles.includes('edge');
  const api = roles.includes('api') ? [http.port] : [];
  return {
    inside: setOf([...api, metrics.port, isEdge ? edge.caddy?.port : undefined]),
    edge: setOf(isEdge ? [edge.httpPort, edge.httpsPort, edge.publicHttpsPort] : []),
  };
}

/** Port 0 is any free one. */
function setOf(ports: readonly (number | undefined)[]): Set<number> {
  return new Set(ports.flatMap((port) => (port ? [port] : [])));
}

/** Of this machine, at `PLATFORM_ADDRESSES`, of the storage, and of `others`: the fleet. */
export function composeOwnListeners(
  config: OwnAddressesParts['config'] & OwnPortsConfig,
  others: OwnListeners,
  now: () => Date,
): { readonly ownPorts: OwnPorts; readonly ownListeners: OwnListeners } {
  // The machine can have processes with other roles.
  const ownPorts = configuredPorts(config, roleNames);
  const { inside, edge } = ownPorts;
  const { addresses } = config.platform;
  const stored = storagePlaces(config.storage).map(({ hostname, port }) => ({
    ports: new Set([port]),
    resolve: rememberAddresses({ hostname, lookup: asThisMachine, now }),
  }));
  const ownListeners = async () => [
    { addresses: [LOOPBACK], ports: inside, edgePorts: edge },
    // A load balancer can publish the edge there at any port.
    { addresses, ports: NO_PORTS, edgePorts: new Set([...inside, ...edge]) },
    ...(await Promise.all(
      stored.map(async ({ ports, resolve }) => ({
        addresses: await resolve(),
        ports,
        edgePorts: NO_PORTS,
      })),
    )),
    ...(await others()),
  ];
  return { ownPorts, ownListeners };
}

const NO_PORTS: ReadonlySet<number> = new Set();

/** An address has many names: `127.0.0.2` and `0.0.0.0` also lead to this machine. */
export function createIsListener(
  listeners: readonly Listeners[],
  { withEdge }: { readonly withEdge: boolean },
): (address: string, port: number) => boolean {
  const isHere = membersOf(machineAddresses());
  const parts = listeners.map(({ addresses, ports, edgePorts }) => {
    const isNamed = membersOf(addresses);
    const isLocal = addresses.some(isHere);
    return {
      has: (port: number) => (withEdge && edgePorts.has(port)) || ports.has(port),
      isAt: (address: string) => isNamed(address) || (isLocal && isHere(address)),
    };
  });
  return (address, port) => parts.some(({ has, isAt }) => has(port) && isAt(address));
}

const LOOPBACK = '127.0.0.1';

/** Current ones, with every notation that leads here (RFC 1122, 3.2.1.3; RFC 4291, 2.5). */
export function machineAddresses(): readonly string[] {
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all);
  return ['127.0.0.0/8', '0.0.0.0/8', '::1', '::', ...own.map(({ address }) => address)];
}

const usualPorts: Readonly<Record<string, number>> = { 'redis:': 6379, 'rediss:': 6379 };
const POSTGRES_PORT = 5432;

/** A server with a socket usually listens on this machine, too, at the port of the socket's name. */
function storagePlaces(storage: Config['storage']) {
  if (storage.kind === 'embedded') return [];
  const urls = [storage.databaseUrl, ...('redisUrl' in storage ? [storage.redisUrl] : [])];
  return urls.map((text) => {
    const { hostname, port, protocol, searchParams } = new URL(text);
    // libpq and node-postgres accept `?host=` and `?port=` in place of the URL's parts.
    const host = decodeURIComponent(
      searchParams.get('host') ?? hostname.replace(/^\[(.*)\]$/, '$1'),
    );
    const isSocket = host === '' || host.startsWith('/');
    const given = Number(searchParams.get('port') ?? port);
    return {
      hostname: isSocket ? LOOPBACK : host,
      port: given || (usualPorts[protocol] ?? POSTGRES_PORT),
    };
  });
}

/** Like database clients, includes the hosts file. Empty without an answer. */
export async function asThisMachine(hostname: string): Promise<readonly string[]> {
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
