/** Computes what each server of a small internet holds from a short description. */
import type { LabZones } from '../../../src/lab/dns-server.ts';

export type Zones = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export type MapOptions = {
  readonly zones: Zones;
  readonly atParent?: Readonly<Record<string, readonly string[]>>;
  readonly atZone?: Readonly<Record<string, readonly string[]>>;
  readonly registry?: LabZones;
  readonly known?: LabZones;
  /** Fixed addresses by full server name, such as `::1`, instead of the next free one. */
  readonly addresses?: Readonly<Record<string, string>>;
};

/** What each server holds; every zone has its NS records and the addresses of its servers. */
export type InternetMap = {
  readonly registry: LabZones;
  readonly resolver: LabZones;
  readonly servers: readonly {
    readonly name: string;
    readonly address: string;
    readonly zones: LabZones;
  }[];
};

const FIRST_SERVER = 2;

/** Assigns addresses from 127.0.0.2 on and computes what each server holds. */
export function drawMap(options: MapOptions): InternetMap {
  const { zones, registry = {}, known = {} } = options;
  const addresses = addressesOf(options);
  const own = (zone: string, lines: readonly string[]) => [
    ...infrastructure(zone, options, addresses),
    ...delegations(zone, options, addresses),
    ...lines,
  ];
  const served = new Map<string, Record<string, readonly string[]>>();
  for (const [zone, servers] of Object.entries(zones)) {
    for (const [name, lines] of Object.entries(servers)) {
      const full = absolute(name, zone);
      served.set(full, { ...served.get(full), [zone]: own(zone, lines) });
    }
  }
  const tops = topsOf(options, registry);
  const registries = Object.fromEntries(
    tops.map((top) => [
      top,
      [...registryLines(top), ...delegations(top, options, addresses), ...(registry[top] ?? [])],
    ]),
  );
  const first = Object.entries(zones).map(([zone, servers]) => {
    const lines = known[zone] ?? Object.values(servers)[0] ?? [];
    return [zone, own(zone, lines)] as const;
  });
  return {
    registry: registries,
    resolver: { ...hostZones(options, addresses), ...registries, ...Object.fromEntries(first) },
    servers: [...served].map(([name, held]) => ({
      name,
      address: addresses.get(name) ?? '',
      zones: held,
    })),
  };
}

/** By full server name. A server without lines has no address. */
function addressesOf({ zones, addresses = {} }: MapOptions): ReadonlyMap<string, string> {
  const names = Object.entries(zones).flatMap(([zone, servers]) =>
    Object.keys(servers).map((name) => absolute(name, zone)),
  );
  const next = (i: number) => `127.0.0.${FIRST_SERVER + i}`;
  return new Map([...new Set(names)].map((name, i) => [name, addresses[name] ?? next(i)]));
}

function addressLine(name: string, address: string): string {
  return `${name}. ${address.includes(':') ? 'AAAA' : 'A'} ${address}`;
}

function absolute(name: string, zone: string): string {
  return name.includes('.') ? name : `${name}.${zone}`;
}

function listed(side: 'atParent' | 'atZone', zone: string, options: MapOptions): string[] {
  const names = options[side]?.[zone] ?? Object.keys(options.zones[zone] ?? {});
  return names.map((name) => absolute(name, zone));
}

/** A zone's NS set and the addresses of its in-zone servers. */
function infrastructure(
  zone: string,
  options: MapOptions,
  addresses: ReadonlyMap<string, string>,
): string[] {
  const glue = [...addresses].filter(
    ([name]) => isWithin(name, zone) && !deeper(name, zone, options),
  );
  return [
    ...listed('atZone', zone, options).map((name) => `@ NS ${name}.`),
    ...glue.map(([name, address]) => addressLine(name, address)),
  ];
}

function delegations(
  parent: string,
  options: MapOptions,
  addresses: ReadonlyMap<string, string>,
): string[] {
  const children = Object.keys(options.zones).filter((zone) => parentIn(zone, options) === parent);
  return children.flatMap((zone) =>
    listed('atParent', zone, options).flatMap((name) => {
      const address = isWithin(name, zone) ? addresses.get(name) : undefined;
      return [`${zone}. NS ${name}.`, ...(address ? [addressLine(name, address)] : [])];
    }),
  );
}

/** The closest declared parent zone, or the registry's. */
function parentIn(zone: string, { zones }: MapOptions): string {
  const above = ancestors(zone);
  return above.find((name) => name in zones) ?? above[0] ?? '';
}

function topsOf(options: MapOptions, registry: LabZones): string[] {
  const parents = Object.keys(options.zones).map((zone) => parentIn(zone, options));
  const wanted = [...parents, ...Object.keys(registry)].filter((name) => !(name in options.zones));
  return [...new Set(wanted.flatMap((name) => [name, ...ancestors(name)]))];
}

function registryLines(top: string): string[] {
  return ['@ NS a.nic', `a.nic.${top}. A 127.0.0.1`];
}

/** Servers outside this internet's zones: resolvers still know their addresses. */
function hostZones({ zones }: MapOptions, addresses: ReadonlyMap<string, string>): LabZones {
  const held: Record<string, string[]> = {};
  for (const [name, address] of addresses) {
    if (Object.keys(zones).some((zone) => isWithin(name, zone))) continue;
    const zone = name.split('.').slice(-2).join('.');
    held[zone] = [...(held[zone] ?? [`@ NS ${name}.`]), addressLine(name, address)];
  }
  return held;
}

function deeper(name: string, zone: string, { zones }: MapOptions): boolean {
  return Object.keys(zones).some(
    (one) => one !== zone && isWithin(one, zone) && isWithin(name, one),
  );
}

function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}

function ancestors(name: string): string[] {
  const labels = name.split('.');
  return labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'));
}
