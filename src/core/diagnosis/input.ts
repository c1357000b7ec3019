/** Input of the checks: one observation, with values that several checks share. */

import type { Verdict } from '../life/lifecycle.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../names/instructions.ts';
import { splitAtZone } from '../names/zone.ts';
import { type CaaVerdict, evaluateCaa } from './caa/caa.ts';
import type { CaaAuthority } from './caa/caa-set.ts';
import { type Observation, recordsOf, type ServerView } from './observation.ts';
import { type Provider, providerOf } from './providers.ts';
import {
  isOther,
  ownAddresses,
  type Pointing,
  pointingOf,
  pointingOfAll,
} from './server-pointing.ts';

/** What a name is compared with. `allowPrivate`: a test lab can use reserved addresses. */
export type Expected = {
  readonly hostname: string;
  readonly target: string;
  readonly ca: CaaAuthority;
  readonly allowPrivate: boolean;
};

/** One server's view, and where it says the name points. */
type PointedServer = { readonly view: ServerView; readonly pointing: Pointing };

/** The result of `gather`. */
export type DiagnosisInput = {
  readonly observation: Observation;
  readonly expected: Expected;
  /** The required record. */
  readonly record: DnsRecord;
  /** Common fields of findings about the record. `zone`: only if below the registrable domain. */
  readonly wanted: { readonly hostname: string; readonly target: string; readonly zone?: string };
  /** Whether the host name is its zone's apex. */
  readonly apex: boolean;
  /** The host name's zone; without delegation data, the registrable domain. */
  readonly zone: string;
  readonly servers: readonly PointedServer[];
  /** Where all servers combined say the name points. */
  readonly pointing: Verdict;
  /** The registry says that the domain does not exist. */
  readonly unregistered: boolean;
  /** Some of the zone's servers are right, and others are conclusively wrong. */
  readonly disagree: boolean;
  /**
   * Servers with wrong or missing records, for findings about those. Empty if servers disagree or
   * the domain is unregistered: other findings cover that.
   */
  readonly wrong: readonly PointedServer[];
  /** Whether an address, in any notation, is one that the target resolves to. */
  readonly isOwn: (address: string) => boolean;
  /** Who operates the zone's name servers; null if unknown. */
  readonly provider: Provider | null;
  /** Null without a result: no conclusive answer from any server, or an unregistered domain. */
  readonly caa: CaaVerdict | null;
};

/** Computes what several checks share. Pure; never throws. */
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
  const unregistered = delegation?.kind === 'unregistered';
  const pointing = pointingOfAll(servers.map((server) => server.pointing));
  const others = servers.filter((server) => isOther(server.pointing));
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
    unregistered,
    disagree: disagree && !unregistered,
    wrong: disagree || unregistered ? [] : others,
    isOwn: ownAddresses(targetAddresses),
    provider: providerOf(zoneServers(observation)),
    caa: unregistered ? null : climbVerdict(observation, expected.ca, pointing),
  };
}

/**
 * Returns the zone's name servers by name, from the parent zone and the zone itself, sorted.
 * Without delegation data, returns the queried servers. Empty if only resolvers were queried.
 */
export function zoneServers({ view, delegation, servers }: Observation): readonly string[] {
  if (delegation?.kind === 'delegated') {
    return unique([...delegation.atParent, ...(delegation.atZone ?? [])]);
  }
  return view === 'authoritative' ? unique(servers.map(({ server }) => server)) : [];
}

/** Returns the conflicting aliases, sorted. */
export function wrongAliases({ wrong }: DiagnosisInput): readonly string[] {
  return unique(
    wrong.flatMap(({ pointing }) =>
      pointing.kind === 'elsewhere' && pointing.cname !== null ? [pointing.cname] : [],
    ),
  );
}

/** Returns all addresses of a family from servers with conflicting records, sorted. */
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

/**
 * Returns what decides how to create an apex record: the provider, and our addresses as an
 * alternative.
 */
export function choicesIn({ provider, apex, observation: { targetAddresses } }: DiagnosisInput): {
  readonly provider?: string;
  readonly ourAddresses?: readonly string[];
} {
  return {
    ...(provider === null ? {} : { provider: provider.name }),
    ...(apex && targetAddresses.length > 0 ? { ourAddresses: unique(targetAddresses) } : {}),
  };
}

/**
 * Deduplicates and sorts, so that servers that rotate their answers do not create a new finding.
 */
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
 * The climb assumes that the record exists, so it counts even while the record is wrong. The
 * customer can then fix everything at once. A name that points here needs a result, because a
 * missing climb could hide a set that forbids. It counts as a timeout.
 */
function climbVerdict(
  { hostname, caa }: Observation,
  ca: CaaAuthority,
  pointing: Verdict,
): CaaVerdict | null {
  if (pointing === 'unknown') return null;
  if (caa !== null && caa.length > 0) return evaluateCaa(caa, ca, { wildcard: false });
  return pointing === 'right' ? { kind: 'unknown', name: hostname, outcome: 'timeout' } : null;
}
