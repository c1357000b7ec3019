/** The zones of the tree, as the table of cases declares them, and as each server has them (RFC 1035, 5). */

import type { SignedZone, Signing } from '../dns/real/signing.ts';
import type { ServedZone } from '../support/name-servers.ts';
import type { FrontRule } from '../support/other-name-servers.ts';

/**
 * Who runs servers in the tree, and where: a label of a server's name. `a.nsd.test` and `b.nsd.test` are two
 * names of one NSD, as is every name in `net`. `front` is dnsdist before `nsd`; nobody is at `dead`.
 */
export const operators = {
  nsd: '127.0.1.2',
  nsd2: '127.0.1.3',
  // It listens on addresses of interfaces only.
  bind: '127.0.0.1',
  knot: '127.0.1.5',
  pdns: '127.0.1.6',
  front: '127.0.1.7',
  dead: '127.0.1.9',
  // Names without an address anywhere.
  nameless: null,
} as const;

export type Operator = keyof typeof operators;

/** Which operators have zones of their own. */
export type Holder = Exclude<Operator, 'front' | 'dead' | 'nameless'>;

export const [REGISTRY, RESOLVER] = ['127.0.1.1', '127.0.1.8'] as const;

/** What the registry has. */
export const topLevels = ['test', 'net'] as const;

/** A zone of which a server knows nothing, one that it has never received, or the records that it alone has. */
export type Apart = 'unknown' | 'not_received' | readonly string[];

/**
 * A zone below `test`. One of two labels is delegated by the registry; for a deeper one its parent's records have the NS
 * lines, or have none: then it is found at the same servers only. Records are `owner TYPE data`, relative to the zone.
 */
export type TreeZone = {
  readonly name: string;
  readonly records: readonly string[];
  /** Names of its servers where it is delegated; `a.nsd.test` and `a.bind.test` where nothing is said. */
  readonly servers?: readonly string[];
  /** Their names in the zone itself, where that differs. */
  readonly atZone?: readonly string[];
  /** Records about it that the registry has beside the delegation, such as the only ones; relative to `test`. */
  readonly atParent?: readonly string[];
  /** Where one operator's servers differ. */
  readonly apart?: { readonly [H in Holder]?: Apart };
  readonly signing?: Signing;
  readonly front?: FrontRule;
};

const DEFAULT_SERVERS = ['a.nsd.test', 'a.bind.test'];

/** The platform's own zone, which every case points to. */
export const platform: TreeZone = {
  name: 'edge.test',
  records: ['p1 A 203.0.113.10', 'p1 A 203.0.113.11', 'p1 AAAA 2001:db8:1::10'],
  servers: ['a.nsd.test'],
  signing: 'well',
};

/** The names of a zone's servers where it is delegated. */
export function serversOf({ servers = DEFAULT_SERVERS }: TreeZone): readonly string[] {
  return servers;
}

/** Who runs the server of this name. */
export function operatorOf(server: string): Operator {
  if (server.endsWith('.net')) return 'nsd';
  const label = server.split('.').findLast((one) => one in operators);
  if (label !== undefined) return label as Operator;
  throw new Error(`nobody runs ${server}: its name must have a label nsd, bind …`);
}

/** Who has the zone: what dnsdist passes on is NSD's. */
export function holdersOf(zone: TreeZone): readonly Holder[] {
  const names = [...serversOf(zone), ...(zone.atZone ?? [])];
  const found = names.map(operatorOf).map((one) => (one === 'front' ? 'nsd' : one));
  return [...new Set(found)].filter((one): one is Holder => one !== 'dead' && one !== 'nameless');
}

/** The zone as one operator has it; undefined where its servers know nothing of it. */
export function servedBy(holder: Holder, zone: TreeZone): ServedZone | undefined {
  const apart = zone.apart?.[holder] ?? [];
  if (apart === 'unknown' || !holdersOf(zone).includes(holder)) return undefined;
  const text = apart === 'not_received' ? null : masterFile(zone, apart);
  return { name: zone.name, serial: 1, text };
}

/** The registry's zone: every delegation, with the addresses of all servers and the DS records. */
export function registryZone(
  zones: readonly TreeZone[],
  signed: readonly SignedZone[],
): ServedZone {
  const delegated = zones.filter(({ name }) => name.split('.').length === 2);
  const names = namesOfServers(zones).filter((name) => name.endsWith('.test'));
  const records = [
    `ns.nic A ${REGISTRY}`,
    ...names.flatMap((server) => addressLine(server, operatorOf(server))),
    ...zones.flatMap(({ atParent = [] }) => atParent),
    ...delegated.flatMap((zone) => serversOf(zone).map((server) => `${zone.name}. NS ${server}.`)),
    ...signed.flatMap(({ ds }) => ds),
  ];
  const text = masterFile({ name: 'test', records, atZone: ['ns.nic.test'] }, []);
  return { name: 'test', serial: 1, text };
}

/** A server's address at the registry; with a label `alias` it has none of its own, which must not be (RFC 2181, 10.3). */
function addressLine(server: string, operator: Operator): readonly string[] {
  if (server.split('.').includes('alias')) return [`${server}. CNAME a.${operator}.test.`];
  const address = operators[operator];
  return address === null ? [] : [`${server}. A ${address}`];
}

/** The top level of servers that are known by their names, such as those of parking pages. */
export function netZone(zones: readonly TreeZone[]): ServedZone {
  const names = namesOfServers(zones).filter((name) => name.endsWith('.net'));
  const records = names.flatMap((server) => addressLine(server, operatorOf(server)));
  const text = masterFile({ name: 'net', records, atZone: ['ns.nic.test'] }, []);
  return { name: 'net', serial: 1, text };
}

function namesOfServers(zones: readonly TreeZone[]): readonly string[] {
  return [...new Set(zones.flatMap((zone) => [...serversOf(zone), ...(zone.atZone ?? [])]))];
}

/** The root of this world, so that no question leaves it. */
export function rootZone(): ServedZone {
  const records = [
    ...topLevels.map((name) => `${name} NS ns.nic.test.`),
    `ns.nic.test A ${REGISTRY}`,
  ];
  const text = masterFile({ name: '.', records, atZone: ['ns.nic.test'] }, []);
  return { name: '.', serial: 1, text };
}

function masterFile(zone: TreeZone, apart: readonly string[]): string {
  const { name, records, atZone = serversOf(zone) } = zone;
  const list = [
    `$ORIGIN ${name === '.' ? '.' : `${name}.`}`,
    '$TTL 60',
    '@ SOA ns.nic.test. hostmaster.nic.test. 1 3600 600 604800 300',
    ...atZone.map((server) => `@ NS ${server}.`),
    ...records,
    ...apart,
  ];
  return `${list.join('\n')}\n`;
}
