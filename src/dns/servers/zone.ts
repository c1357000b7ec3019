/** A zone as it is delegated, and for how long that is remembered. */
import { getDomain } from 'tldts';
import type { Delegation } from '../../core/diagnosis/observation.ts';
import type { Loaded } from '../wire/shared.ts';
import type { NameServer } from './reply.ts';
import { SERVERS_MAX } from './turns.ts';

/** A zone cut and the servers responsible below it: the delegation's sorted by name, then the zone's own. */
export type Zone = {
  readonly kind: 'zone';
  readonly name: string;
  readonly servers: readonly NameServer[];
  /** As a server of the zone above has it, all servers' names sorted; null where only a resolver answered. */
  readonly delegation: {
    readonly parent: string;
    readonly atParent: readonly string[];
    readonly ttlSeconds: number;
  } | null;
};

/** How many names each store keeps. Bounds what hostile zones can make us remember. */
export const CACHE_MAX = 10_000;
/** A change at the registrar is seen after this long, whatever TTL the old servers gave. Our choice. */
const TTL_MS_MAX = 10 * 60_000;
/** RFC 9520, 3.2 wants failures remembered for 1 s to 5 min. */
export const FAILURE_TTL_MS = 5_000;
/** Who sells the name decides, not who lends parts of it; the rest says that the name is a clean one already. */
const icannOnly = {
  allowPrivateDomains: false,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
} as const;

/** Returns the name that a registry sells; for a name that has none, such as a public suffix, its last two labels. */
export function registrableDomain(name: string): string {
  return getDomain(name, icannOnly) ?? name.split('.').slice(-2).join('.');
}

/** Wraps a value that says we could not tell, to be remembered for 5 s. */
export function failed<V>(value: V): Loaded<V> {
  return { value, ttlMs: FAILURE_TTL_MS, failed: true };
}

/**
 * Returns for how many ms a TTL is kept: 5 s at least, so that a TTL of 0 does not make every check ask again, and 10
 * minutes at most.
 */
export function rememberMs(ttlSeconds: number): number {
  return Math.min(Math.max(ttlSeconds * 1000, FAILURE_TTL_MS), TTL_MS_MAX);
}

/** Returns each server once, sorted by name. */
export function sortedServers(servers: readonly NameServer[]): readonly NameServer[] {
  return servers
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .filter(({ name }, i, all) => name !== all[i - 1]?.name);
}

/**
 * Returns the zone with the servers that only its own NS set names after those of the delegation: some resolvers ask them
 * as well (RFC 2181, 5.4.1). Returns `zone` itself where there are none, or where the delegation has four already.
 */
export function withOwnServers(zone: Zone, atZone: readonly string[] | null): Zone {
  const atParent = zone.delegation?.atParent;
  if (atParent === undefined || atZone === null) return zone;
  const others = sortedNames(atZone).filter((name) => !atParent.includes(name));
  const added = others.slice(0, Math.max(0, SERVERS_MAX - zone.servers.length));
  if (added.length === 0) return zone;
  return { ...zone, servers: [...zone.servers, ...added.map((name) => ({ name, glue: [] }))] };
}

/** Returns the delegation as observations keep it; null where only a resolver answered. */
export function delegationOf(zone: Zone, atZone: readonly string[] | null): Delegation | null {
  return zone.delegation && { kind: 'delegated', zone: zone.name, ...zone.delegation, atZone };
}

/** Returns each name once, sorted. */
export function sortedNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
