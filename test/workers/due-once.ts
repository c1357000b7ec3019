/** What a sweep finds due in its tests: one domain, and once it was taken, nothing. */
import type { DueDomains, Taking } from '../../src/db/domains/sweeps.ts';

/** `takings`: how it was asked, in order. */
export function dueOnce(id: string) {
  const takings: Taking[] = [];
  const due: DueDomains = {
    take: async (taking) => {
      takings.push(taking);
      return takings.length === 1 ? [{ id, takes: 1 }] : [];
    },
    settle: async () => {},
    giveBack: async () => {},
    noteReason: async () => {},
  };
  return { due, takings };
}
