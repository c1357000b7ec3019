/** The zones of a small world under `test`, as master files (RFC 1035, 5). */
import type { ServedZone } from '../../support/name-servers.ts';
import type { SignedZone, Signing } from './signing.ts';

/** A server without the zone, one that never received it, or the records only it has. */
type Apart = 'unknown' | 'not_received' | readonly string[];

/** A zone below `test`. Records are `owner TYPE data`, relative to the zone. */
export type RealZone = {
  readonly name: string;
  readonly records: readonly string[];
  /** Server names at the registry and in the zone; their first labels are keys of `addresses`. */
  readonly atParent?: readonly string[];
  readonly atZone?: readonly string[];
  /** Where NSD (ns1) and BIND (ns2) differ. */
  readonly ns1?: Apart;
  readonly ns2?: Apart;
  readonly signing?: Signing;
  readonly serial?: number;
};

/** By the first label of a server's name. `down`: no server. `also`: NSD by another name. */
export const addresses = {
  ns: '127.0.0.11',
  ns1: '127.0.0.12',
  ns2: '127.0.0.1',
  also: '127.0.0.12',
  down: '127.0.0.15',
} as const;

export const NEGATIVE_TTL_SECONDS = 300;
const TTL_SECONDS = 60;

/** The default servers of a zone; their addresses are in the registry's own zone. */
export const BOTH = ['ns1.nic.test', 'ns2.nic.test'] as const;

/** The platform's zone with the target of all customers, at NSD alone. */
export const platformZone: RealZone = {
  name: 'edge.test',
  records: ['p1 A 203.0.113.10', 'p1 A 203.0.113.11', 'p1 AAAA 2001:db8:1::10'],
  atParent: ['ns1.nic.test'],
  signing: 'well',
};

export function addressOf(server: string): string {
  const [label] = server.split('.');
  const found = Object.entries(addresses).find(([name]) => name === label);
  if (found === undefined) throw new Error(`no address for ${server}`);
  return found[1];
}

/** The zone on one of its servers; undefined if that server does not have it. */
export function servedBy(server: 'ns1' | 'ns2', zone: RealZone): ServedZone | undefined {
  const { name, serial = 1, atParent = BOTH } = zone;
  const apart = zone[server] ?? [];
  const isListed = atParent.some((one) => addressOf(one) === addresses[server]);
  if (apart === 'unknown' || !isListed) return undefined;
  const text = apart === 'not_received' ? null : masterFile(zone, apart);
  return { name, serial, text };
}

/** The registry's zone: its addresses, and each delegation with glue and DS records. */
export function registryZone(
  zones: readonly RealZone[],
  signed: readonly SignedZone[],
): ServedZone {
  const records = [
    ...Object.entries(addresses)
      .filter(([label]) => label !== 'ns') // its own server comes with its NS record
      .map(([label, address]) => `${label}.nic A ${address}`),
    ...zones.flatMap(({ name, atParent = BOTH }) => [
      ...atParent.map((server) => `${name}. NS ${server}.`),
      ...glue(name, atParent),
    ]),
    ...signed.flatMap(({ ds }) => ds),
  ];
  const zone = { name: 'test', records, atZone: ['ns.nic.test'] };
  return { name: 'test', serial: 1, text: masterFile(zone, []) };
}

export function rootZone(): ServedZone {
  const records = ['test NS ns.nic.test.', `ns.nic.test A ${addresses.ns}`];
  const zone = { name: '.', records, atZone: ['ns.nic.test'] };
  return { name: '.', serial: 1, text: masterFile(zone, []) };
}

function masterFile(zone: RealZone, apart: readonly string[]): string {
  const { name, records, serial = 1, atParent = BOTH, atZone = atParent } = zone;
  const timers = `3600 600 604800 ${NEGATIVE_TTL_SECONDS}`;
  const list = [
    `$ORIGIN ${name === '.' ? '.' : `${name}.`}`,
    `$TTL ${TTL_SECONDS}`,
    `@ SOA ns.nic.test. hostmaster.nic.test. ${serial} ${timers}`,
    ...atZone.map((server) => `@ NS ${server}.`),
    ...glue(name, atZone),
    ...records,
    ...apart,
  ];
  return `${list.join('\n')}\n`;
}

function glue(zone: string, servers: readonly string[]): string[] {
  return servers
    .filter((server) => server.endsWith(`.${zone}`))
    .map((server) => `${server}. A ${addressOf(server)}`);
}
