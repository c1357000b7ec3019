/**
 * A small internet on loopback, all at one port. The registry's server at 127.0.0.1 delegates each
 * zone to its name servers at 127.0.0.2 and up. A recursive server is at 127.0.0.53.
 */
import { diagnose, type Expected } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../../src/core/diagnosis/observation.ts';
import { splitAtZone } from '../../../src/core/names/zone.ts';
import { createObserver } from '../../../src/dns/observe/observe.ts';
import type { Limits } from '../../../src/dns/wire/budget.ts';
import { createWire } from '../../../src/dns/wire/wire.ts';
import type { LabQuestion } from '../../../src/lab/answers.ts';
import { type LabDnsServer, type LabZones, startDnsServer } from '../../../src/lab/dns-server.ts';
import type { LabFault, LabRole } from '../../../src/lab/faults.ts';

/* Computes what each server of a small internet holds from a short description. */

type Zones = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

type MapOptions = {
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
function drawMap(options: MapOptions): InternetMap {
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

export type InternetOptions = {
  /** Zone → server name (relative if it has no dot) → lines. Resolvers know those of the first. */
  readonly zones: Zones;
  /** Servers named by the parent or by the zone itself, if that is only some of them. */
  readonly atParent?: Readonly<Record<string, readonly string[]>>;
  readonly atZone?: Readonly<Record<string, readonly string[]>>;
  readonly registry?: LabZones;
  /** What the recursive server has for a zone, instead of its first server's lines. */
  readonly known?: LabZones;
  /** Fixed addresses by full server name, such as `::1`. */
  readonly addresses?: Readonly<Record<string, string>>;
  readonly signed?: readonly string[];
  readonly authoritative?: boolean;
  readonly limits?: Limits;
  /** For each attempt; keep it short only when a server is silent. */
  readonly timeoutMs?: number;
};

export type Internet = Awaited<ReturnType<typeof openInternet>>;

export const TARGET = 'p1.edge.test';
/** The platform's addresses, in the order of findings. */
export const OURS = ['192.0.2.10', '192.0.2.11', '2001:db8::10'] as const;
export const RESOLVER = '127.0.0.53';
const REGISTRY = '127.0.0.1';
const edge = { ns1: ['p1 A 192.0.2.10', 'p1 A 192.0.2.11', 'p1 AAAA 2001:db8::10'] };

export const AUTHORITY: Expected['ca'] = {
  issuerDomains: ['letsencrypt.org'],
  accountUri: 'https://acme.example/acct/123',
  method: 'http-01',
};

const PATIENCE_MS = 5_000;

const open: (() => unknown)[] = [];

export async function closeInternet(): Promise<void> {
  for (const close of open.splice(0)) await close();
}

export async function openInternet(options: InternetOptions) {
  const map = drawMap({ ...options, zones: { 'edge.test': edge, ...options.zones } });
  const started = await startServers(map, options.signed ?? []);
  open.push(() => Promise.all(started.map(({ dns }) => dns.close())));
  const server = (name: string): LabDnsServer => {
    const found = started.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no server ${name} in this internet`);
    return found.dns;
  };
  const all = started.map(({ dns }) => dns);
  const { close, ...asks } = observerOf(server('resolver'), options);
  open.push(close);
  return {
    ...asks,
    server,
    resolver: server('resolver'),
    registry: server('registry'),
    /** Makes `ns1.shop.test`, `registry` or `resolver` fail, if given only for names and a type. */
    fail: (name: string, fault: LabFault, names = '.', type = '*', role?: LabRole) =>
      server(name).fail(names, type, fault, role),
    questions: (): readonly LabQuestion[] => all.flatMap(({ questions }) => [...questions]),
    forget: () => {
      for (const dns of all) dns.forget();
    },
  };
}

/** An observer of this recursive server with an empty cache; `close` closes its sockets. */
export function observerOf(
  resolver: LabDnsServer,
  options: Pick<InternetOptions, 'limits' | 'timeoutMs' | 'authoritative'>,
) {
  const { limits, timeoutMs = PATIENCE_MS, authoritative = true } = options;
  const wire = createWire({ timeoutMs, tcpTimeoutMs: timeoutMs });
  const { address, port } = resolver;
  const observer = createObserver({
    wire,
    platformAddresses: [],
    ...(limits ? { limits } : {}),
    config: {
      servers: [{ address, port }],
      authoritative,
      authorityPort: port,
      allowPrivate: true,
    },
  });
  const observe = (hostname: string, target = TARGET) =>
    observer.observe({ hostname, target, apex: splitAtZone(hostname).apex });
  return {
    observer,
    close: wire.close,
    observe,
    check: async (hostname: string, expected: Partial<Expected> = {}) => {
      const observation = await observe(hostname, expected.target);
      return { observation, ...diagnosed(observation, expected) };
    },
  };
}

/** The diagnosis of the observation, with codes in the order of the findings. */
export function diagnosed(observation: Observation, expected: Partial<Expected> = {}) {
  const { hostname } = observation;
  const whole = { hostname, target: TARGET, ca: AUTHORITY, allowPrivate: true, ...expected };
  const diagnosis = diagnose(observation, whole);
  return { ...diagnosis, codes: diagnosis.findings.map(({ code }) => code) };
}

type Started = { readonly name: string; readonly dns: LabDnsServer };

/** A port free at the first address may be taken at another one; then all start over. */
const PORT_TRIES = 5;

async function startServers(map: InternetMap, signed: readonly string[]): Promise<Started[]> {
  for (let tries = 1; ; tries++) {
    const started: Started[] = [];
    const start = async (name: string, address: string, zones: LabZones) => {
      const port = started[0]?.dns.port ?? 0;
      const more = name === 'resolver' ? { signed } : {};
      const dns = await startDnsServer({ zones, address, port, topLevels: false, ...more });
      started.push({ name, dns });
    };
    try {
      await start('registry', REGISTRY, map.registry);
      await start('resolver', RESOLVER, map.resolver);
      for (const { name, address, zones } of map.servers) await start(name, address, zones);
      return started;
    } catch (error) {
      await Promise.all(started.map(({ dns }) => dns.close()));
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!taken || tries === PORT_TRIES) throw error;
    }
  }
}
