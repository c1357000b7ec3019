/** One observation, with values that several checks share. */

import type { Verdict } from '../life/lifecycle.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../names/instructions.ts';
import { splitAtZone } from '../names/zone.ts';
import { type CaaVerdict, evaluateCaa } from './caa/caa.ts';
import type { CaaAuthority } from './caa/caa-set.ts';
import { type Observation, recordsOf, type ServerView } from './observation.ts';
import { parkingOf } from './parking.ts';
import { type Provider, providerOf } from './providers.ts';
import {
  isOther,
  ownAddresses,
  type Pointing,
  pointingOf,
  pointingOfAll,
} from './server-pointing.ts';

/** `allowPrivate`: a test lab can use reserved addresses. */
export type Expected = {
  readonly hostname: string;
  readonly target: string;
  readonly ca: CaaAuthority;
  readonly allowPrivate: boolean;
};

type PointedServer = { readonly view: ServerView; readonly pointing: Pointing };

export type DiagnosisInput = {
  readonly observation: Observation;
  readonly expected: Expected;
  readonly record: DnsRecord;
  /** Common fields of findings. `zone`: only if below the registrable domain. */
  readonly wanted: { readonly hostname: string; readonly target: string; readonly zone?: string };
  readonly apex: boolean;
  /** Without delegation data, the registrable domain. */
  readonly zone: string;
  readonly servers: readonly PointedServer[];
  /** Of all servers combined. */
  readonly pointing: Verdict;
  /** Unregistered, parked or without name servers: no record can be created before that changes. */
  readonly hasNoZone: boolean;
  /** Null if the record is right, or unless all name servers are a parking provider's. */
  readonly parking: Parking | null;
  /** Some of the zone's servers are right, and others are conclusively wrong. */
  readonly disagree: boolean;
  /** With wrong or missing records. Empty if another finding covers these. */
  readonly wrong: readonly PointedServer[];
  /** In any notation. */
  readonly isOwn: (address: string) => boolean;
  /** Operates the zone's name servers; null if unknown. */
  readonly provider: Provider | null;
  /** Null: no conclusive answer from any server, or a domain without a zone. */
  readonly caa: CaaVerdict | null;
};

/** Pure; never throws. */
export function gatherInput(observation: Observation, expected: Expected): DiagnosisInput {
  const { hostname, target } = expected;
  const { targetAddresses, delegation } = observation;
  const below = zoneBelow(observation);
  const wanted = { hostname, target, ...(below === undefined ? {} : { zone: below }) };
  const record = recordFor(wanted);
  const servers = observation.servers.map((view) => ({
    view,
    pointing: pointingOf(view, record, targetAddresses),
  }));
  const pointing = pointingOfAll(servers.map((server) => server.pointing));
  const parking = pointing === 'right' ? null : parkingIn(observation);
  const others = servers.filter((server) => isOther(server.pointing));
  const hasNoZone =
    delegation?.kind === 'unregistered' ||
    parking !== null ||
    // Some registries hold their customers' records themselves.
    (delegation?.kind === 'undelegated' &&
      others.length > 0 &&
      others.every((server) => server.pointing.kind === 'missing'));
  // Resolvers are not the zone's name servers: if they differ, one has an old answer cached.
  const disagree =
    observation.view === 'authoritative' &&
    others.length > 0 &&
    servers.some((server) => server.pointing.kind === 'right');
  return {
    observation,
    expected,
    record,
    wanted,
    apex: record.type === 'ALIAS',
    zone: delegation?.zone ?? splitAtZone(hostname).zone,
    servers,
    pointing,
    hasNoZone,
    parking,
    disagree: disagree && !hasNoZone,
    wrong: disagree || hasNoZone ? [] : others,
    isOwn: ownAddresses(targetAddresses),
    provider: providerOf(zoneServers(observation)),
    caa: hasNoZone ? null : climbVerdict(observation, expected.ca, pointing),
  };
}

/** `servers`: sorted. */
type Parking = NonNullable<ReturnType<typeof parkingOf>> & { readonly servers: readonly string[] };

/** By the registrar's list: that is what a registrar changes to park a domain. */
function parkingIn({ delegation }: Observation): Parking | null {
  const servers = delegation?.kind === 'delegated' ? unique(delegation.atParent) : [];
  const found = parkingOf(servers);
  return found && { ...found, servers };
}

/** What names the servers of a zone. */
export type ServersView = Pick<Observation, 'view' | 'delegation'> & {
  readonly servers: readonly ServerView[];
};

/**
 * From the parent zone and the zone itself, sorted. Without delegation data, the queried servers.
 * Empty if only resolvers were queried.
 */
export function zoneServers({ view, delegation, servers }: ServersView): readonly string[] {
  if (delegation?.kind === 'delegated') {
    return unique([...delegation.atParent, ...(delegation.atZone ?? [])]);
  }
  return view === 'authoritative' ? unique(servers.map(({ server }) => server)) : [];
}

/**
 * Empty unless the host name, though no registry sells it, is a separate zone, where no CNAME is
 * allowed.
 */
export function ownZoneIn({ observation, expected: { hostname, target } }: DiagnosisInput): {
  readonly ownZone?: OwnZone;
} {
  const { delegation } = observation;
  if (delegation?.kind !== 'delegated' || zoneBelow(observation) !== hostname) return {};
  return { ownZone: { parent: delegation.parent, target } };
}

/** Where the queried servers are listed. `parent`: the zone with that list, unless a registry has it. */
export function listedIn({ observation: { delegation }, zone: own }: DiagnosisInput): {
  readonly zone: string;
  readonly parent?: string;
} {
  if (delegation?.kind !== 'delegated') return { zone: own };
  const { parent, sameServers } = delegation;
  const zone = sameServers ? parent : own;
  return sameServers || splitAtZone(zone).zone === zone ? { zone } : { zone, parent };
}

/** `parent`: the zone that delegates the host name. */
export type OwnZone = { readonly parent: string; readonly target: string };

export function wrongAliases({ wrong }: DiagnosisInput): readonly string[] {
  return unique(
    wrong.flatMap(({ pointing }) =>
      pointing.kind === 'elsewhere' && pointing.cname !== null ? [pointing.cname] : [],
    ),
  );
}

export function addressesInTheWay(
  { wrong }: DiagnosisInput,
  family: 'a' | 'aaaa',
): readonly string[] {
  return unique(
    wrong.flatMap(({ view, pointing }) =>
      pointing.kind === 'elsewhere' ? recordsOf(view[family]) : [],
    ),
  );
}

/** What decides how to create an apex record. */
export function choicesIn({ provider, apex, observation: { targetAddresses } }: DiagnosisInput): {
  readonly provider?: string;
  readonly ourAddresses?: readonly string[];
} {
  return {
    ...(provider === null ? {} : { provider: provider.name }),
    ...(apex && targetAddresses.length > 0 ? { ourAddresses: unique(targetAddresses) } : {}),
  };
}

/** Sorted, so that servers that rotate their answers do not create a new finding. */
export function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Compares by code units, like `unique`, in every locale. */
export function byText<T>(textOf: (item: T) => string): (one: T, other: T) => number {
  return (one, other) => {
    const [a, b] = [textOf(one), textOf(other)];
    if (a === b) return 0;
    return a < b ? -1 : 1;
  };
}

/**
 * The climb assumes that the record exists, so the customer can fix everything at once. If the name
 * points here, a missing climb is an unknown one: it can hide a set that forbids.
 */
function climbVerdict(
  { hostname, caa }: Observation,
  ca: CaaAuthority,
  pointing: Verdict,
): CaaVerdict | null {
  if (pointing === 'unknown') return null;
  if (caa !== null && caa.length > 0) return evaluateCaa(caa, ca, { wildcard: false });
  return pointing === 'right' ? { kind: 'unknown', name: hostname, outcome: 'cut_off' } : null;
}
