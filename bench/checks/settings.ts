/** What the contenders for the rate share: domains, queue, and the time until the next check. */
import { numberFrom } from '../support/figures.ts';
import { cpuUsOf, sleep } from '../support/processes.ts';

/** Pending domains, each with its job. Together they are due 24,000 times a second, more than any contender handles. */
export const DOMAINS = 6_000;
/** The shortest wait between checks of a test lab (src/core/life/ladder.ts). */
export const WAIT_MS = 250;
/**
 * This many zones, each with a separate name server, which gets at most two queries at once
 * (src/dns/servers/throttle.ts). Customers use many providers, too.
 */
export const ZONES = 200;
const WARM_UP_MS = 1_000 * numberFrom('WARM_UP', 4);
const MEASURE_MS = 1_000 * numberFrom('SECONDS', 8);

export function hostnameOf(index: number): string {
  return `docs-${index}.${zoneOf(index % ZONES)}`;
}

/** Zones of another account's customers, on separate servers. */
export const QUIET_ZONES = 40;

export function quietNameOf(index: number): string {
  return `docs-${index}.${quietZoneOf(index % QUIET_ZONES)}`;
}

export function quietZoneOf(index: number): string {
  return `quiet-${index}.test`;
}

export function zoneOf(index: number): string {
  return `shop-${index}.test`;
}

type WorkerServers = {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly dnsPort: string;
};

/** Signpost's worker as in production, with these servers and the shortest waits. */
export function workerEnvironment({ databaseUrl, redisUrl, dnsPort }: WorkerServers) {
  return {
    ROLE: 'worker',
    DATABASE_URL: databaseUrl,
    ACME_DIRECTORY_URL: 'local',
    REDIS_URL: redisUrl,
    KEY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    API_KEY: 'an unused API key',
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DNS_AUTHORITY_PORT: dnsPort,
    DNS_ALLOW_PRIVATE: 'true',
    UPSTREAM_NETWORKS: '127.0.0.0/8',
    // Short enough that every wait is the minimum, WAIT_MS.
    VERIFY_WINDOW: '10m',
    TIME_SCALE: '288',
  };
}

/** Checks per second, and CPU microseconds of this process per check, which vary less on a shared machine. */
export type Rate = { readonly rate: number; readonly cpuUs: number };

/** Measured over MEASURE_MS, after the warm-up, from a monotonic counter. */
export async function measure(count: () => Promise<number>): Promise<Rate> {
  await sleep(WARM_UP_MS);
  const [from, start, cpu] = [await count(), performance.now(), cpuUsOf(process.pid)];
  await sleep(MEASURE_MS);
  const [to, end] = [await count(), performance.now()];
  const checks = to - from;
  return {
    rate: Math.round((checks / (end - start)) * 1_000),
    cpuUs: Math.round((cpuUsOf(process.pid) - cpu) / checks),
  };
}
