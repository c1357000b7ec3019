/**
 * The customers' name servers: zones with many names, and the platform's own zone. Faults apply per
 * zone.
 */
import { type LabDnsServer, startDnsServer } from '../../../src/lab/dns-server.ts';
import type { LabFault } from '../../../src/lab/faults.ts';

export const PLATFORM_DOMAIN = 'edge.signpost.test';
/** Different owners, so that a fault can hit a single one. */
export const customerZones = ['one.test', 'two.test', 'three.test'] as const;
/** Its CAA set allows only another CA. */
export const CLOSED_ZONE = 'closed.test';
/**
 * Every name has the same wrong address. Each zone has its own name server, which gets two queries
 * at a time at most.
 */
export const crowdedZones = Array.from({ length: 100 }, (_, index) => ({
  name: `crowd-${index}.test`,
  address: `127.9.0.${index + 1}`,
}));

export type Zones = {
  readonly dnsPort: number;
  /** Replaces the records of the name. Resolves when the server has it. */
  point(hostname: string, target: string): Promise<void>;
  drop(hostname: string): Promise<void>;
  /** Applies the fault to this zone and below it, until `heal`. */
  fail(zone: string, fault: LabFault): void;
  heal(zone: string): void;
  close(): Promise<void>;
};

export async function startZones(): Promise<Zones> {
  const fixed: Readonly<Record<string, readonly string[]>> = {
    [PLATFORM_DOMAIN]: ['* A 127.0.0.1'],
    [CLOSED_ZONE]: ['@ CAA 0 issue "nobody.example"'],
    ...Object.fromEntries(crowdedZones.map((zone) => [zone.name, linesOf(zone)])),
  };
  const records = new Map<string, Map<string, string>>();
  for (const zone of [...customerZones, CLOSED_ZONE]) records.set(zone, new Map());
  const empty = Object.fromEntries(customerZones.map((zone) => [zone, []]));
  const dns = await startDnsServer({ zones: { ...empty, ...fixed } });
  const crowded = await Promise.all(
    crowdedZones.map((zone) => {
      const { address, name } = zone;
      return startDnsServer({ zones: { [name]: linesOf(zone) }, address, port: dns.port });
    }),
  );
  let publishing: Promise<void> | null = null;
  const changed = new Set<string>();

  /** Publishes all changes of one event loop turn together. */
  function publish(zone: string): Promise<void> {
    changed.add(zone);
    publishing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      publishing = null;
      return flush(dns);
    });
    return publishing;
  }

  async function flush(server: LabDnsServer): Promise<void> {
    const zones = [...changed];
    changed.clear();
    server.forget(); // no test reads the queries
    for (const zone of zones) {
      const lines = [...(records.get(zone) ?? [])].map(
        ([name, target]) => `${name}. CNAME ${target}.`,
      );
      await server.setZone(zone, [...(fixed[zone] ?? []), ...lines]);
    }
  }

  const zoneOf = (hostname: string) => hostname.slice(hostname.indexOf('.') + 1);
  return {
    dnsPort: dns.port,
    point(hostname, target) {
      records.get(zoneOf(hostname))?.set(hostname, target);
      return publish(zoneOf(hostname));
    },
    drop(hostname) {
      records.get(zoneOf(hostname))?.delete(hostname);
      return publish(zoneOf(hostname));
    },
    fail: (zone, fault) => dns.fail(`.${zone}`, '*', fault),
    heal: (zone) => dns.heal(`.${zone}`),
    async close() {
      await Promise.all([dns, ...crowded].map((server) => server.close()));
    },
  };
}

function linesOf({ address }: { readonly address: string }): readonly string[] {
  return ['@ NS ns1', `ns1 A ${address}`, '* A 127.0.0.9'];
}
