/** A name server on loopback, a wire and an observer for one test; `closeAll` belongs into afterEach. */
import type { Config } from '../../src/config/config.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { createObserver, type Earlier } from '../../src/dns/observe/observe.ts';
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

/** Nobody waits for it where everything answers; tests in which something does not answer set their own. */
const PATIENCE_MS = 5_000;

/** For tests in which somebody is silent. A machine that stands still for a moment is not silent. */
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

/** For a check that asks each server whether it still shows what it did. */
export function comparedWith(observation: Observation): Earlier {
  return { observation, depth: 'compare' };
}

/** An observer whose only recursive server, and whose authorities, are the laboratory's. */
export async function openLaboratory(zones: Zones, options: Options = {}) {
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

/** What was asked, retries included: `name TYPE`, with `rd` where recursion was desired. */
export function asked(dns: LabDnsServer): readonly string[] {
  return dns.questions.map(
    ({ name, type, recursionDesired }) => `${name} ${type}${recursionDesired ? ' rd' : ''}`,
  );
}
