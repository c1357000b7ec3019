/** What the servers of a small world under `test` hold, as master files (RFC 1035, 5). */
import type { ServedZone } from '../../support/name-servers.ts';
import type { SignedZone, Signing } from './signing.ts';

/** A server that knows nothing of the zone, one that has never received it, or the records that only it has. */
type Apart = 'unknown' | 'not_received' | readonly string[];

/** A zone below `test`. Records are `owner TYPE data`, relative to the zone, as in `docs CNAME p1.edge.test.` */
export type RealZone = {
  readonly name: string;
  readonly records: readonly string[];
  /** Names of its servers at the registry and in the zone; their first labels are those of `addresses`. */
  readonly atParent?: readonly string[];
  readonly atZone?: readonly string[];
  /** Where NSD (ns1) and BIND (ns2) differ. */
  readonly ns1?: Apart;
  readonly ns2?: Apart;
  readonly signing?: Signing;
  readonly serial?: number;
};

/** By the first label of a server's name. `down`: nobody is there. `also`: NSD by another name. */
export const addresses = {
  ns: '127.0.0.11',
  ns1: '127.0.0.12',
  ns2: '127.0.0.1',
  also: '127.0.0.12',
  down: '127.0.0.15',
} as const;

export const NEGATIVE_TTL_SECONDS = 300;
const TTL_SECONDS = 60;

/** The servers of zones that say nothing else; their addresses are in the registry's own zone. */
export const BOTH = ['ns1.nic.test', 'ns2.nic.test'] as const;

/** The platform's zone: the target that all customers are to point to, at NSD alone. */
export const platformZone: RealZone = {
  name: 'edge.test',
  records: ['p1 A 203.0.113.10', 'p1 A 203.0.113.11', 'p1 AAAA 2001:db8:1::10'],
  atParent: ['ns1.nic.test'],
  signing: 'well',
};

/** The address that a server of this name listens on. */
export function addressOf(server: string): string {
  const [label] = server.split('.');
  const found = Object.entries(addresses).find(([name]) => name === label);
  if (found === undefined) throw new Error(`no address for ${server}`);
  return found[1];
}

/** The zone as one of its servers has it; undefined where that server does not know it. */
export function servedBy(server: 'ns1' | 'ns2', zone: RealZone): ServedZone | undefined {
  const { name, serial = 1, atParent = BOTH } = zone;
  const apart = zone[server] ?? [];
  const isListed = atParent.some((one) => addressOf(one) === addresses[server]);
  if (apart === 'unknown' || !isListed) return undefined;
  const text = apart === 'not_received' ? null : masterFile(zone, apart);
  return { name, serial, text };
}

/** The registry's zone: its servers' addresses, and every zone's delegation with its glue and its DS records. */
export function registryZone(
  zones: readonly RealZone[],
  signed: readonly SignedZone[],
): ServedZone {
  const records = [
    ...Object.entries(addresses)
      .filter(([label]) => label !== 'ns') // the zone's own server comes with its NS record
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

/** The root of this world, so that no question leaves it. */
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

/** Addresses of those servers that are within the zone itself. */
function glue(zone: string, servers: readonly string[]): string[] {
  return servers
    .filter((server) => server.endsWith(`.${zone}`))
    .map((server) => `${server}. A ${addressOf(server)}`);
}
