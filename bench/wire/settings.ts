/** What both contenders share: names of one type, the number of open queries, the name server. */

import { numberFrom } from '../support/figures.ts';
import { sleep } from '../support/processes.ts';

export const IN_FLIGHT = numberFrom('IN_FLIGHT', 200);
const NAMES = 10_000;
const WARM_UP_MS = numberFrom('WARM_UP', 1) * 1_000;
const MEASURE_MS = numberFrom('SECONDS', 3) * 1_000;

/** Result of one run of a contender: answers per second of its CPU time (user and system), and per second. */
export type Rates = { readonly perCpuSecond: number; readonly perSecond: number };

/** Keeps IN_FLIGHT queries open, and measures after a warm-up. `ask` rejects on a wrong answer. */
export async function measure(ask: (name: string) => Promise<void>): Promise<Rates> {
  const names = Array.from({ length: NAMES }, (_, index) => `docs-${index}.customers.shop.test`);
  let [answers, running] = [0, true];
  const lane = async () => {
    while (running) {
      await ask(names[answers % NAMES] ?? '');
      answers += 1;
    }
  };
  const lanes = Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  await Promise.race([sleep(WARM_UP_MS), lanes]);
  const [from, cpu, start] = [answers, process.cpuUsage(), performance.now()];
  await Promise.race([sleep(MEASURE_MS), lanes]);
  const { user, system } = process.cpuUsage(cpu);
  const [count, seconds] = [answers - from, (performance.now() - start) / 1_000];
  running = false;
  await lanes;
  return {
    perCpuSecond: Math.round((count * 1e6) / (user + system)),
    perSecond: Math.round(count / seconds),
  };
}
