/** A name server, a DNS client and an observer per test; use `closeAll` in afterEach. */
import type { Config } from '../../src/config/config.ts';
import type { CaaLevel, Observation } from '../../src/core/diagnosis/observation.ts';
import { createObserver, type Earlier, type Observer } from '../../src/dns/observe/observe.ts';
import type { Reachability } from '../../src/dns/servers/reachability.ts';
import type { Limits } from '../../src/dns/wire/budget.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { type LabDnsOptions, type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';

type Zones = Readonly<Record<string, readonly string[]>>;

type Options = Partial<Config['dns']> & {
  readonly limits?: Limits;
  readonly platformAddresses?: readonly string[];
  readonly timeoutMs?: number;
  readonly now?: () => Date;
  readonly reachability?: Reachability;
};

/** Tests with silent servers set a shorter timeout. */
const PATIENCE_MS = 5_000;

/** For tests with silent servers; long enough for a machine that stalls briefly. */
export const BRIEF_MS = 200;

const open: (() => unknown)[] = [];

export async function closeAll(): Promise<void> {
  for (const close of open.splice(0)) await close();
}

function atTheEnd(close: () => unknown): void {
  open.push(close);
}

export async function openDns(
  zones: Zones,
  port = 0,
  address?: string,
  more: Omit<LabDnsOptions, 'zones' | 'port' | 'address'> = {},
): Promise<LabDnsServer> {
  const dns = await startDnsServer({ ...more, zones, port, ...(address ? { address } : {}) });
  atTheEnd(dns.close);
  return dns;
}

/** For a check that compares with what each server showed before. */
export function comparedWith(observation: Observation): Earlier {
  return { observation, depth: 'compare' };
}

/** An observer whose recursive and authoritative servers are those of the test. */
export async function openTestLab(zones: Zones, options: Options = {}) {
  const dns = await openDns(zones);
  const {
    limits,
    platformAddresses = [],
    timeoutMs = PATIENCE_MS,
    now,
    reachability,
    ...config
  } = options;
  const wire = createWire({ timeoutMs });
  atTheEnd(wire.close);
  const observer = createObserver({
    wire,
    platformAddresses,
    ...(limits ? { limits } : {}),
    ...(now ? { now } : {}),
    ...(reachability ? { reachability } : {}),
    config: {
      servers: [{ address: dns.address, port: dns.port }],
      authoritative: true,
      authorityPort: dns.port,
      allowPrivate: true,
      ...config,
    },
  });
  return { dns, wire, observer };
}

/** The CAA levels of a check, closest first. */
export async function caaOf(observer: Observer, hostname: string): Promise<readonly CaaLevel[]> {
  const check = { hostname, target: 'p1.edge.test', apex: true };
  return (await observer.observe(check)).caa ?? [];
}

/** The queries received, including retries: `name TYPE`, plus `rd` if recursion was desired. */
export function asked(dns: LabDnsServer): readonly string[] {
  return dns.questions.map(
    ({ name, type, recursionDesired }) => `${name} ${type}${recursionDesired ? ' rd' : ''}`,
  );
}
