/** Visits live domains through the load balancer, each visit on a new connection. */
import { visit } from '../../../src/cli/demo/test-lab.ts';
import type { Endings } from '../endings.ts';
import type { Random } from '../random.ts';
import { GREETING, type System } from '../system/system.ts';
import { sleep } from '../system/wait.ts';
import type { Ledger } from './ledger.ts';

const PAUSE_MS = 100;
const PATIENCE_MS = 15_000;

/** Null if the visitor got the deploy's response; otherwise what happened. */
export async function visitOnce(
  { authority, visitorsPort }: System,
  hostname: string,
  port = visitorsPort,
): Promise<string | null> {
  const late = sleep(PATIENCE_MS).then(() => null);
  try {
    const seen = await Promise.race([visit(hostname, port, authority.roots), late]);
    if (seen === null) return 'no answer';
    return seen.status === 200 && seen.body === GREETING ? null : `${seen.status} ${seen.body}`;
  } catch (fault) {
    return String(fault);
  }
}

/** Visits `hostnames` in turn until the end. */
export function startVisitors(
  system: System,
  { hostnames, ledger, random }: { hostnames: readonly string[]; ledger: Ledger; random: Random },
  endings: Endings,
): void {
  let stopped = false;
  const visiting = (async () => {
    while (!stopped) {
      const hostname = random.pick(hostnames);
      const at = performance.now();
      const problem = await visitOnce(system, hostname);
      if (problem !== null && !stopped) {
        const what = `visit of ${hostname}: ${problem}`;
        ledger.failures.push({ at, who: 'visitor', what, status: 0 });
      }
      await sleep(PAUSE_MS);
    }
  })();
  endings.push('the visitors', () => {
    stopped = true;
    return visiting;
  });
}
