/**
 * From a host name to the zone it is in and that zone's name servers. No recursive server is ever asked about the host
 * name itself: it would remember "there is none" for as long as the zone likes (RFC 2308, 5), and answer everybody with
 * it. A recursive server says where to ask, never what is not there: a domain must not lose its status by one that
 * denies, so only a registry's or a zone's own servers can (delegation.ts).
 */

import type { Budget } from '../wire/budget.ts';
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
import { CACHE_MAX, registrableDomain, rememberMs, type Zone } from './zone.ts';

/** What a zone's own servers say its NS set is, sorted; null where none of them answered. */
export type OwnServers = readonly string[] | null;

/** Zones and their name servers, remembered. Only `zoneFor` and `ownServers` may send something. */
export type Authorities = {
  /**
   * Resolves with the deepest zone known for a name, or why there is none. Its servers may refer further down: call
   * `delegated` with the referral then.
   */
  readonly zoneFor: (
    name: string,
    budget: Budget,
  ) => Promise<Zone | Unregistered | NoZone | Unreached>;
  /** Returns the deepest zone that is remembered; undefined where somebody would have to be asked. */
  readonly knownZone: (name: string) => Zone | undefined;
  /** Returns the zone that a server of `parent` has referred to, and remembers it. */
  readonly delegated: (referral: Referral, parent: Zone) => Zone;
  /** Resolves with what is remembered of the zone's own NS set, else with what `load` finds. */
  readonly ownServers: (
    zone: Zone,
    budget: Budget,
    load: () => Promise<Loaded<OwnServers>>,
  ) => Promise<OwnServers>;
  /** Returns the NS set as far as it is remembered; null where it is not. */
  readonly knownOwnServers: (zone: Zone) => OwnServers;
  /**
   * Forgets the zone and the delegation of the name. To be called after none of its servers could tell: the delegation
   * may have changed.
   */
  readonly forget: (zone: Zone, name: string) => void;
};

/** Remembers nothing at first. One is enough for a process: what is learnt about zones is shared by all lookups. */
export function createAuthorities(parts: DelegationParts): Authorities {
  const zones = createShared<Cut>({ max: CACHE_MAX });
  const own = createShared<OwnServers>({ max: CACHE_MAX });

  /** Zones above the registrable domain do not count here: they only know whom to refer to. */
  function knownZone(name: string): Zone | undefined {
    const registrable = registrableDomain(name);
    for (let at: string | undefined = name; at !== undefined; at = parentOf(at)) {
      const known = zones.peek(at);
      if (known?.kind === 'zone') return known;
      if (at === registrable) break;
    }
    return undefined;
  }

  async function zoneFor(name: string, budget: Budget) {
    const known = knownZone(name);
    if (known !== undefined) return known;
    const registrable = registrableDomain(name);
    const cut = await zones.get(registrable, budget, () =>
      lookupDelegation(parts, registrable, aboveAt(budget), budget),
    );
    // No servers for a top level that the suffix list has (core/names/zone.ts): that resolver knows nothing.
    return cut.kind === 'none' ? ({ ...cut, kind: 'servfail' } as const) : cut;
  }

  function aboveAt(budget: Budget) {
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
      // A name without a zone of its own is remembered with the zone above.
      for (const key of [zone.name, registrableDomain(name)]) zones.forget(key);
      own.forget(ownKey(zone));
    },
  };
}

/** What servers said of their zone before it was delegated to others is not held against those. */
function ownKey({ name, delegation }: Zone): string {
  return [name, ...(delegation?.atParent ?? [])].join(' ');
}
