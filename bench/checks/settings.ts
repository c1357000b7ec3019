/** What all contenders of the rate share: the same domains, the same queue, the same time until the next check. */
import { numberFrom } from '../support/figures.ts';
import { cpuUsOf, sleep } from '../support/processes.ts';

/** Domains that wait, each with its job. Together they ask for 24,000 checks a second, more than anybody gives. */
export const DOMAINS = 6_000;
/** The shortest wait of a laboratory's ladder (src/core/life/ladder.ts). */
export const WAIT_MS = 250;
/**
 * As many zones, each at a name server of its own: no more than two questions are under way to one of them at once
 * (src/dns/servers/throttle.ts), and customers are not all at one provider either.
 */
export const ZONES = 200;
const WARM_UP_MS = 1_000 * numberFrom('WARM_UP', 4);
const MEASURE_MS = 1_000 * numberFrom('SECONDS', 8);

export function hostnameOf(index: number): string {
  return `docs-${index}.${zoneOf(index % ZONES)}`;
}

/** Of another account, whose customers' zones are at other servers. */
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

/** Looks a second, and the microseconds of CPU that this process takes for one: those vary less on a shared machine. */
export type Rate = { readonly rate: number; readonly cpuUs: number };

/** Over MEASURE_MS, after the warm-up, from a counter that only grows. */
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
