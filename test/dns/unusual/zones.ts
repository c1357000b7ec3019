/** The zones of the cases, and their master file on each server (RFC 1035, 5). */

import type { ServedZone } from '../../support/name-servers.ts';
import type { FrontRule } from '../../support/other-name-servers.ts';
import type { SignedZone, Signing } from '../real/signing.ts';

/**
 * Operators of name servers, by a label of the server's name. `a.nsd.test` and `b.nsd.test` are one NSD,
 * as are all names in `net`. `front`: dnsdist before `nsd`. `dead`: no server.
 */
export const operators = {
  nsd: '127.0.1.2',
  nsd2: '127.0.1.3',
  // It listens on interface addresses only.
  bind: '127.0.0.1',
  knot: '127.0.1.5',
  pdns: '127.0.1.6',
  front: '127.0.1.7',
  dead: '127.0.1.9',
  // Names without an address.
  nameless: null,
} as const;

export type Operator = keyof typeof operators;

/** Operators that have zones. */
export type Holder = Exclude<Operator, 'front' | 'dead' | 'nameless'>;

export const [REGISTRY, RESOLVER, CUT_OFF] = ['127.0.1.1', '127.0.1.8', '127.0.1.10'] as const;

/** The registry's top levels. */
export const topLevels = ['test', 'net'] as const;

/** A server without the zone, one that never received it, or the records only it has. */
export type Apart = 'unknown' | 'not_received' | readonly string[];

/**
 * A zone below `test`. The registry delegates zones of two labels; deeper ones need NS records in the
 * parent, or exist only on the same servers. Records are `owner TYPE data`, relative to the zone.
 */
export type TreeZone = {
  readonly name: string;
  readonly records: readonly string[];
  /** Server names in the parent zone; default: `a.nsd.test` and `a.bind.test`. */
  readonly servers?: readonly string[];
  /** Server names in the zone itself, if different. */
  readonly atZone?: readonly string[];
  /** Further records at the registry, relative to `test`. */
  readonly atParent?: readonly string[];
  /** By operator, if its servers differ. */
  readonly apart?: { readonly [H in Holder]?: Apart };
  readonly signing?: Signing;
  readonly front?: FrontRule;
};

const DEFAULT_SERVERS = ['a.nsd.test', 'a.bind.test'];

/** The platform's zone, with the target of all cases. */
export const platform: TreeZone = {
  name: 'edge.test',
  records: ['p1 A 203.0.113.10', 'p1 A 203.0.113.11', 'p1 AAAA 2001:db8:1::10'],
  servers: ['a.nsd.test'],
  signing: 'well',
};

/** In the parent zone. */
export function serversOf({ servers = DEFAULT_SERVERS }: TreeZone): readonly string[] {
  return servers;
}

export function operatorOf(server: string): Operator {
  const label = server.split('.').findLast((one) => one in operators);
  if (label !== undefined) return label as Operator;
  if (server.endsWith('.net')) return 'nsd';
  throw new Error(`no operator for ${server}: its name needs a label such as nsd or bind`);
}

/** Operators that have the zone; dnsdist forwards to NSD. */
export function holdersOf(zone: TreeZone): readonly Holder[] {
  const names = [...serversOf(zone), ...(zone.atZone ?? [])];
  const found = names.map(operatorOf).map((one) => (one === 'front' ? 'nsd' : one));
  return [...new Set(found)].filter((one): one is Holder => one !== 'dead' && one !== 'nameless');
}

/** Undefined if the operator's servers do not have the zone. */
export function servedBy(holder: Holder, zone: TreeZone): ServedZone | undefined {
  const apart = zone.apart?.[holder] ?? [];
  if (apart === 'unknown' || !holdersOf(zone).includes(holder)) return undefined;
  const text = apart === 'not_received' ? null : masterFile(zone, apart);
  return { name: zone.name, serial: 1, text };
}

/** Delegations, addresses of all servers, and DS records. */
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

/** A label `alias` makes it a CNAME, which is not allowed (RFC 2181, 10.3). */
function addressLine(server: string, operator: Operator): readonly string[] {
  if (server.split('.').includes('alias')) return [`${server}. CNAME a.${operator}.test.`];
  const address = operators[operator];
  return address === null ? [] : [`${server}. A ${address}`];
}

/** The zone of servers outside `test`, such as those of parking providers. */
export function netZone(zones: readonly TreeZone[]): ServedZone {
  const names = namesOfServers(zones).filter((name) => name.endsWith('.net'));
  const records = names.flatMap((server) => addressLine(server, operatorOf(server)));
  const text = masterFile({ name: 'net', records, atZone: ['ns.nic.test'] }, []);
  return { name: 'net', serial: 1, text };
}

function namesOfServers(zones: readonly TreeZone[]): readonly string[] {
  return [...new Set(zones.flatMap((zone) => [...serversOf(zone), ...(zone.atZone ?? [])]))];
}

/** Keeps all queries on this machine. */
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
