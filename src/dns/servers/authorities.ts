/**
 * Finds the zone of a host name. Resolvers are never queried for the host name itself: they would
 * cache its absence (RFC 2308, 5). Absence is only accepted from a registry's or zone's own
 * servers, so a broken resolver cannot cost a domain its status.
 */

import type { QueryBudget } from '../wire/budget.ts';
import { parentOf } from '../wire/name.ts';
import { createShared, type Loaded } from '../wire/shared.ts';
import {
  type Cut,
  type DelegationParts,
  lookupDelegation,
  lookupServers,
  type NoZone,
  type Unreached,
  type Unregistered,
  zoneOf,
} from './delegation.ts';
import type { Referral } from './reply.ts';
import { CACHE_MAX, type OwnServers, registrableDomain, rememberMs, type Zone } from './zone.ts';

/** Only `zoneFor` and `ownServers` can send queries. */
export type NameServers = {
  /** The deepest known zone. If its servers refer further down, call `delegated`. */
  readonly zoneFor: (
    name: string,
    budget: QueryBudget,
  ) => Promise<Zone | Unregistered | NoZone | Unreached>;
  /** Undefined if a query would be needed. */
  readonly knownZone: (name: string) => Zone | undefined;
  /** Caches the zone that a server of `parent` referred to. */
  readonly delegated: (referral: Referral, parent: Zone) => Zone;
  /** Cached, otherwise the result of `load`. */
  readonly ownServers: (
    zone: Zone,
    budget: QueryBudget,
    load: () => Promise<Loaded<OwnServers>>,
  ) => Promise<OwnServers>;
  readonly knownOwnServers: (zone: Zone) => OwnServers;
  /** Call it if none of the servers answered, because the delegation can have changed. */
  readonly forget: (zone: Zone, name: string) => void;
};

/** One per process, so that all lookups share the cache. */
export function createAuthorities(parts: DelegationParts): NameServers {
  const zones = createShared<Cut>({ max: CACHE_MAX });
  const own = createShared<OwnServers>({ max: CACHE_MAX });

  /** Zones above the registrable domain do not count: they only give referrals. */
  function knownZone(name: string): Zone | undefined {
    const registrable = registrableDomain(name);
    for (let at: string | undefined = name; at !== undefined; at = parentOf(at)) {
      const known = zones.peek(at);
      if (known?.kind === 'zone') return known;
      if (at === registrable) break;
    }
    return undefined;
  }

  async function zoneFor(name: string, budget: QueryBudget) {
    const known = knownZone(name);
    if (known !== undefined) return known;
    const registrable = registrableDomain(name);
    const cut = await zones.get(registrable, budget, () =>
      lookupDelegation(parts, registrable, aboveAt(budget), budget),
    );
    // A resolver that knows no servers for a listed top level (core/names/zone.ts) is broken.
    return cut.kind === 'none' ? ({ ...cut, kind: 'servfail' } as const) : cut;
  }

  function aboveAt(budget: QueryBudget) {
    return (suffix: string) =>
      zones.get(suffix, budget, () => lookupServers(parts.recursive, suffix, budget));
  }

  function delegated(referral: Referral, parent: Zone): Zone {
    const zone = zoneOf(referral, parent.name);
    const ttlMs = rememberMs(referral.ttlSeconds);
    zones.put(zone.name, { value: zone, ttlMs, failed: false });
    return zone;
  }

  return {
    zoneFor,
    knownZone,
    delegated,
    ownServers: (zone, budget, load) => own.get(ownKey(zone), budget, load),
    knownOwnServers: (zone) => own.peek(ownKey(zone)) ?? null,
    forget(zone, name) {
      // a name without its own zone is cached with its parent zone
      for (const key of [zone.name, registrableDomain(name)]) zones.forget(key);
      own.forget(ownKey(zone));
    },
  };
}

/** A re-delegated zone must not inherit the earlier servers' answers. */
function ownKey({ name, delegation }: Zone): string {
  return [name, ...(delegation?.atParent ?? [])].join(' ');
}
