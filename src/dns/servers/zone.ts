import { isIP } from 'node:net';
import { getDomain } from 'tldts';
import type { Delegation, GlueDifference } from '../../core/diagnosis/observation.ts';
import { icannOnly } from '../../core/names/zone.ts';
import { MINUTE } from '../../core/time.ts';
import { isWithin } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import { QUERIED_MAX } from './query-order.ts';
import type { NameServer } from './reply.ts';

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
    /** As in `Observation`. */
    readonly sameServers?: true;
  } | null;
};

/**
 * Reported by the zone's own servers, sorted by name, each with the addresses beside it; null if none
 * answered.
 */
export type OwnServers = readonly NameServer[] | null;

/** Bounds memory under hostile zones. */
export const CACHE_MAX = 10_000;
/** Changes at the registrar are seen after this time, regardless of the old servers' TTL. */
const TTL_MS_MAX = 10 * MINUTE;
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
export function withOwnServers(zone: Zone, own: OwnServers): Zone {
  const atParent = zone.delegation?.atParent;
  if (atParent === undefined || own === null) return zone;
  const others = namesOf(own).filter((name) => !atParent.includes(name));
  const added = others.slice(0, Math.max(0, QUERIED_MAX - zone.servers.length));
  if (added.length === 0) return zone;
  return { ...zone, servers: [...zone.servers, ...added.map((name) => ({ name, glue: [] }))] };
}

/** Null if only a resolver answered. */
export function delegationOf(zone: Zone, own: OwnServers): Delegation | null {
  if (zone.delegation === null) return null;
  const atZone = own && namesOf(own);
  const glue = glueDifferences(zone, own ?? []);
  const differing = glue.length === 0 ? {} : { glue };
  return { kind: 'delegated', zone: zone.name, ...zone.delegation, atZone, ...differing };
}

function namesOf(servers: readonly NameServer[]): readonly string[] {
  return sortedNames(servers.map(({ name }) => name));
}

/**
 * Of name servers inside the zone, which need glue. Families are compared separately, because a server
 * can leave out the addresses of one.
 */
function glueDifferences(zone: Zone, own: readonly NameServer[]): readonly GlueDifference[] {
  return zone.servers
    .filter(({ name }) => isWithin(name, zone.name))
    .flatMap(({ name, glue }) => {
      const addresses = own.find((server) => server.name === name)?.glue ?? [];
      const differing = [4, 6].flatMap((family) => {
        const ofFamily = (list: readonly string[]) =>
          list.filter((address) => isIP(address) === family);
        const [above, here] = [ofFamily(glue), ofFamily(addresses)];
        const isOld = here.length > 0 && above.some((address) => !here.includes(address));
        return isOld ? { above, here } : [];
      });
      if (differing.length === 0) return [];
      return {
        server: name,
        atParent: differing.flatMap(({ above }) => above.toSorted()),
        atZone: differing.flatMap(({ here }) => here.toSorted()),
      };
    });
}

export function sortedNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}
