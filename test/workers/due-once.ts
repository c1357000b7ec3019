/** A sweep's due domains in tests: one domain, and none once it was taken. */
import type { DueDomains, Taking } from '../../src/db/domains/sweeps.ts';

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
