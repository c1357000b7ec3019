/** What both contenders share: the same names of one type, the same number in flight, the same name server. */

import { numberFrom } from '../support/figures.ts';
import { sleep } from '../support/processes.ts';

export const IN_FLIGHT = numberFrom('IN_FLIGHT', 200);
const NAMES = 10_000;
const WARM_UP_MS = numberFrom('WARM_UP', 1) * 1_000;
const MEASURE_MS = numberFrom('SECONDS', 3) * 1_000;

/** What one run of a contender found: answers a second of its own CPU time (user and system), and of the clock. */
export type Rates = { readonly perCpuSecond: number; readonly perSecond: number };

/** Keeps IN_FLIGHT questions under way, and measures after a warm-up. `ask` rejects where no right answer came. */
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
