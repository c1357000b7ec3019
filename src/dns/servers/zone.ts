import { getDomain } from 'tldts';
import type { Delegation } from '../../core/diagnosis/observation.ts';
import { icannOnly } from '../../core/names/zone.ts';
import type { Loaded } from '../wire/shared.ts';
import type { NameServer } from './reply.ts';
import { QUERIED_MAX } from './turns.ts';

/** The delegated servers sorted by name, then the zone's own. */
export type Zone = {
  readonly kind: 'zone';
  readonly name: string;
  readonly servers: readonly NameServer[];
  /** In the parent zone, all server names sorted; null if only a resolver answered. */
  readonly delegation: {
    readonly parent: string;
    readonly atParent: readonly string[];
    readonly ttlSeconds: number;
  } | null;
};

/** Bounds memory under hostile zones. */
export const CACHE_MAX = 10_000;
/** Changes at the registrar are seen after this time, regardless of the old servers' TTL. */
const TTL_MS_MAX = 10 * 60_000;
/** RFC 9520, 3.2 requires caching failures for 1 s to 5 min. */
export const FAILURE_TTL_MS = 5_000;

/** For a name without one, such as a public suffix, its last two labels. */
export function registrableDomain(name: string): string {
  return getDomain(name, icannOnly) ?? name.split('.').slice(-2).join('.');
}

export function loadedFailure<V>(value: V): Loaded<V> {
  return { value, ttlMs: FAILURE_TTL_MS, failed: true };
}

/** At least 5 s, so that a TTL of 0 does not cause a query per check; at most 10 minutes. */
export function rememberMs(ttlSeconds: number): number {
  return Math.min(Math.max(ttlSeconds * 1000, FAILURE_TTL_MS), TTL_MS_MAX);
}

/** Each once, sorted by name, so that checks of a zone with inconsistent servers are stable. */
export function sortedServers(servers: readonly NameServer[]): readonly NameServer[] {
  return servers
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .filter(({ name }, i, all) => name !== all[i - 1]?.name);
}

/** Up to four in total, because some resolvers query these servers, too (RFC 2181, 5.4.1). */
export function withOwnServers(zone: Zone, atZone: readonly string[] | null): Zone {
  const atParent = zone.delegation?.atParent;
  if (atParent === undefined || atZone === null) return zone;
  const others = sortedNames(atZone).filter((name) => !atParent.includes(name));
  const added = others.slice(0, Math.max(0, QUERIED_MAX - zone.servers.length));
  if (added.length === 0) return zone;
  return { ...zone, servers: [...zone.servers, ...added.map((name) => ({ name, glue: [] }))] };
}

/** Null if only a resolver answered. */
export function delegationOf(zone: Zone, atZone: readonly string[] | null): Delegation | null {
  return zone.delegation && { kind: 'delegated', zone: zone.name, ...zone.delegation, atZone };
}

export function sortedNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
