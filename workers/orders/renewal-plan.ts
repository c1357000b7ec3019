import type { Quarantined } from '../../src/db/domains/quarantine.ts';
import type { Service } from '../../src/service/service.ts';
import { chooseFor, type OrderWork } from './choose-authority.ts';

/** What happens next to a renewal. */
export function renewalPlanOf(service: Service, work: OrderWork, quarantine: Quarantined | null) {
  const quarantinedUntil = quarantine?.until ?? null;
  return {
    ...chooseFor(service, work),
    hasOrder: work.order !== null,
    nextCheckAt: work.renewAt,
    quarantinedUntil,
  };
}
