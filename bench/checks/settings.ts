/** What all contenders share: the same domains, the same queue, the same time until the next look. */

/** Domains that wait, each with its job. Together they ask for 24,000 looks a second, more than anybody gives. */
export const DOMAINS = 6_000;
/** The shortest wait of a laboratory's ladder (src/core/ladder.ts). */
export const WAIT_MS = 250;
/**
 * As many zones, each at a name server of its own: no more than two questions are under way to one of them at once
 * (src/dns/throttle.ts), and customers are not all at one provider either.
 */
export const ZONES = 200;
export const WARM_UP_MS = 4_000;
export const MEASURE_MS = 8_000;

export function hostnameOf(index: number): string {
  return `docs-${index}.${zoneOf(index % ZONES)}`;
}

export function zoneOf(index: number): string {
  return `shop-${index}.test`;
}

/** Rates over MEASURE_MS, after the warm-up, from a counter that only grows. */
export async function measure(count: () => Promise<number>): Promise<number> {
  await sleep(WARM_UP_MS);
  const [from, start] = [await count(), performance.now()];
  await sleep(MEASURE_MS);
  const [to, end] = [await count(), performance.now()];
  return Math.round(((to - from) / (end - start)) * 1_000);
}

/** A variable that the parent process has set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run bench/checks/main.ts`);
  return value;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
