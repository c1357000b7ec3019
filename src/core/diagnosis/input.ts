/** What the checks are about: one observation, with everything that several of them need worked out once. */

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

/** One server, and where it says the name points. */
export type PointedServer = { readonly view: ServerView; readonly pointing: Pointing };

/** What `gather` makes of an observation; each check takes what it needs. */
export type DiagnosisInput = {
  readonly observation: Observation;
  readonly expected: Expected;
  /** The one that should be there. */
  readonly record: DnsRecord;
  /** What findings about the record begin with; `zone` where it is one below the registrable domain. */
  readonly wanted: { readonly hostname: string; readonly target: string; readonly zone?: string };
  /** Whether the host name is the top of its zone. */
  readonly apex: boolean;
  /** The zone the host name is in, as far as we know. */
  readonly zone: string;
  readonly servers: readonly PointedServer[];
  /** Where all servers together say that the name points. */
  readonly pointing: Verdict;
  /** The registry says that the domain does not exist. */
  readonly unregistered: boolean;
  /** Some servers of the zone are right, and others conclusively are not. */
  readonly disagree: boolean;
  /**
   * The servers whose wrong or missing records findings are made of. None where the servers disagree or the domain is not
   * registered: the findings about that say it all.
   */
  readonly wrong: readonly PointedServer[];
  /** Whether an address, in any notation, is one that the target resolves to. */
  readonly isOwn: (address: string) => boolean;
  /** Who runs the zone's servers; null: not known. */
  readonly provider: Provider | null;
  /** Null where it says nothing yet: no server's answer was conclusive, or the domain is not registered. */
  readonly caa: CaaVerdict | null;
};

/** Works out what several checks need. Pure; never throws. */
export function gather(observation: Observation, expected: Expected): DiagnosisInput {
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
  // Resolvers are not name servers of the zone: if they differ, one has an old answer in its cache.
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
 * Returns the names of the zone's servers, sorted, as the zone above and the zone itself have them; else those that were
 * asked. Empty where only resolvers were.
 */
export function zoneServers({ view, delegation, servers }: Observation): readonly string[] {
  if (delegation?.kind === 'delegated') {
    return unique([...delegation.atParent, ...(delegation.atZone ?? [])]);
  }
  return view === 'authoritative' ? unique(servers.map(({ server }) => server)) : [];
}

/** The conflicting aliases, sorted. */
export function wrongAliases({ wrong }: DiagnosisInput): readonly string[] {
  return unique(
    wrong.flatMap(({ pointing }) =>
      pointing.kind === 'elsewhere' && pointing.cname !== null ? [pointing.cname] : [],
    ),
  );
}

/** All addresses of a family at the name, from servers with conflicting records; sorted. */
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

/** What decides how the record of an apex can be made: the provider, and the addresses that may stand in its place. */
export function choicesIn({ provider, apex, observation: { targetAddresses } }: DiagnosisInput): {
  readonly provider?: string;
  readonly ourAddresses?: readonly string[];
} {
  return {
    ...(provider === null ? {} : { provider: provider.name }),
    ...(apex && targetAddresses.length > 0 ? { ourAddresses: unique(targetAddresses) } : {}),
  };
}

/** A set as findings keep it: sorted, so that servers that rotate their answers do not make a new finding of it. */
export function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** Compares as `unique` sorts: by code units, the same everywhere. */
export function byText<T>(textOf: (item: T) => string): (one: T, other: T) => number {
  return (one, other) => {
    const [a, b] = [textOf(one), textOf(other)];
    if (a === b) return 0;
    return a < b ? -1 : 1;
  };
}

/**
 * The climb is made as if the record were there, so it counts while the record is wrong, too: everything can be
 * repaired in one visit. A name that points right needs an answer: a climb that was not made may have ended at a set
 * that forbids. No answer came, so: a timeout.
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
