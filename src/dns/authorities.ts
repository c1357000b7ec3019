/**
 * Host name → the zone it is in and that zone's name servers. No recursive server is ever asked about the host name
 * itself: it would remember "there is none" for as long as the zone likes (RFC 2308, 5), and tell everybody.
 * A recursive server says where to ask, never what is not there: one that filters or is broken denies names that
 * exist, and a domain must not lose its standing by that. Only a registry's or a zone's own servers can deny.
 */
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';
import type { SocketAddress } from '../config.ts';
import type { Budget } from './budget.ts';
import type { Recursive } from './recursive.ts';
import type { Failure, NameServer, Referral } from './reply.ts';
import { addressesOf, recordsAt, shortestTtl } from './select.ts';
import { createShared, type Looked } from './shared.ts';
import { parentOf } from './wire/name.ts';

/** A zone cut and the servers responsible below it, at most four, sorted by name. */
export type Zone = {
  readonly kind: 'zone';
  readonly name: string;
  readonly servers: readonly NameServer[];
};

/** `server`, a recursive one, could not tell. */
export type NoZone = {
  readonly kind: Failure['kind'];
  readonly server: string;
};

/** What is remembered of a name; `none`: a recursive server says that no zone begins there. */
type Cut = Zone | NoZone | { readonly kind: 'none'; readonly server: string };

export type Authorities = {
  /** The deepest zone known for a name. Its servers may refer further down: tell `delegated` then. */
  readonly zoneFor: (name: string, budget: Budget) => Promise<Zone | NoZone>;
  readonly delegated: (referral: Referral) => Zone;
  /** Where to ask a server; a failure where its address is unknown or not to be asked. */
  readonly addressOf: (
    server: NameServer,
    budget: Budget,
  ) => Promise<{ readonly kind: 'address'; readonly at: SocketAddress } | Failure>;
  /** After none of a zone's servers could tell: the delegation may have changed. */
  readonly forget: (zone: Zone) => void;
};

export type AuthoritiesOptions = {
  readonly recursive: Recursive;
  readonly authorityPort: number;
  /** Ask name servers at private and reserved addresses too (laboratories). Otherwise a zone could aim us at our own network. */
  readonly allowPrivate: boolean;
};

/** Bounds what hostile zones can make us remember. */
const CACHE_MAX = 10_000;
/** A change at the registrar is seen after this long, whatever TTL the old servers gave (our choice). */
const TTL_MS_MAX = 10 * 60_000;
/** RFC 9520, 3.2 wants failures remembered for 1 s to 5 min. */
const FAILURE_TTL_MS = 5_000;
/** As Knot does: a zone that lists dozens of dead servers must not use up the budget. */
const SERVERS_MAX = 4;

/** Who sells the name decides, not who lends parts of it; the rest says that the name is a clean one already. */
const icannOnly = {
  allowPrivateDomains: false,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
} as const;

/** One for the whole process: zones, and the addresses of the providers' servers, are shared by all look-ups. */
export function createAuthorities({
  recursive,
  authorityPort,
  allowPrivate,
}: AuthoritiesOptions): Authorities {
  const zones = createShared<Cut>({ max: CACHE_MAX });
  const hosts = createShared<readonly string[] | Failure>({ max: CACHE_MAX });

  async function zoneFor(name: string, budget: Budget): Promise<Zone | NoZone> {
    const known = deepestKnown(name);
    if (known !== undefined) return known;
    let server = '';
    for (const candidate of startingPoints(name)) {
      const cut = await zones.get(candidate, budget, () =>
        lookUpZone(recursive, candidate, budget),
      );
      if (cut.kind !== 'none') return cut;
      server = cut.server;
    }
    // No servers for a top level that the suffix list has (core/zone.ts): that resolver knows nothing.
    return { kind: 'servfail', server };
  }

  /** Zones above the registrable domain do not count here: they only know whom to refer to. */
  function deepestKnown(name: string): Zone | undefined {
    const registrable = registrableDomain(name);
    for (let at: string | undefined = name; at !== undefined; at = parentOf(at)) {
      const known = zones.peek(at);
      if (known?.kind === 'zone') return known;
      if (at === registrable) break;
    }
    return undefined;
  }

  function delegated(referral: Referral): Zone {
    const zone: Zone = { kind: 'zone', name: referral.zone, servers: chosen(referral.servers) };
    zones.put(zone.name, { value: zone, ttlMs: ttlMs(referral.ttlSeconds), failed: false });
    return zone;
  }

  async function addressOf(server: NameServer, budget: Budget) {
    const addresses =
      server.glue.length > 0
        ? server.glue
        : await hosts.get(server.name, budget, () => lookUpHost(recursive, server.name, budget));
    if ('kind' in addresses) return addresses;
    const address = addresses.find((one) => allowPrivate || isPublic(one));
    // No address, or only some that are not to be asked: nobody could resolve this zone by this server.
    if (address === undefined) return { kind: 'servfail' } as const;
    return { kind: 'address', at: { address, port: authorityPort } } as const;
  }

  return { zoneFor, delegated, addressOf, forget: (zone) => zones.forget(zone.name) };
}

/** The name a registry sells; for what has none (a public suffix itself) the last two labels. */
export function registrableDomain(name: string): string {
  return getDomain(name, icannOnly) ?? name.split('.').slice(-2).join('.');
}

/**
 * Where recursive servers are asked for NS records, in order: the registrable domain, then upwards. For a registrable
 * domain itself its parent comes first and its own name last, only where no public name server knows better.
 */
function startingPoints(name: string): readonly string[] {
  const registrable = registrableDomain(name);
  const points = name === registrable ? [] : [registrable];
  for (let at = parentOf(registrable); at !== undefined && at !== '.'; at = parentOf(at)) {
    points.push(at);
  }
  return name === registrable ? [...points, name] : points;
}

/** The NS set of one name; whatever a resolver adds beside it is not believed but asked for (RFC 2181, 5.4.1). */
async function lookUpZone(
  recursive: Recursive,
  name: string,
  budget: Budget,
): Promise<Looked<Cut>> {
  const { server, reply } = await recursive.ask(name, 'NS', budget);
  if (reply.kind !== 'message') return failed({ kind: reply.kind, server });
  const records = recordsAt(reply.message.answers, name, 'NS');
  if (records.length === 0) return failed({ kind: 'none', server });
  const servers = chosen(records.map(({ target }) => ({ name: target, glue: [] })));
  return {
    value: { kind: 'zone', name, servers },
    ttlMs: ttlMs(shortestTtl(records)),
    failed: false,
  };
}

/** IPv4 first: it is what every name server of a public zone still has; IPv6 only where there is none. */
async function lookUpHost(
  recursive: Recursive,
  name: string,
  budget: Budget,
): Promise<Looked<readonly string[] | Failure>> {
  for (const type of ['A', 'AAAA'] as const) {
    const { reply } = await recursive.ask(name, type, budget);
    if (reply.kind !== 'message') return failed(reply);
    const records = recordsAt(reply.message.answers, name, type);
    if (records.length > 0) {
      const value = addressesOf(records, name);
      return { value, ttlMs: ttlMs(shortestTtl(records)), failed: false };
    }
  }
  return failed([]);
}

function failed<V>(value: V): Looked<V> {
  return { value, ttlMs: FAILURE_TTL_MS, failed: true };
}

/** At least as long as a failure, so that a TTL of 0 does not make every check look again. */
function ttlMs(seconds: number): number {
  return Math.min(Math.max(seconds * 1000, FAILURE_TTL_MS), TTL_MS_MAX);
}

/** Always the same few in the same order, so that a zone whose servers disagree does not flicker. */
function chosen(servers: readonly NameServer[]): readonly NameServer[] {
  return servers
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .filter(({ name }, i, all) => name !== all[i - 1]?.name)
    .slice(0, SERVERS_MAX);
}

/** Everything private, reserved, translated or mapped is out, not only what is known to be dangerous. */
function isPublic(address: string): boolean {
  return ipaddr.parse(address).range() === 'unicast';
}
