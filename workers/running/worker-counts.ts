/** Derives metrics from what workers save. */

import { isOurTrouble } from '../../src/core/diagnosis/findings.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { CountCheck, CountedCheck, OrderCounters } from '../../src/ops/metrics/work.ts';
import type { SavedCheck } from '../check-dns.ts';

export function countChecks(count: CountCheck): (check: SavedCheck) => void {
  return (check) => count(countedCheckOf(check));
}

export function countedCheckOf({ domain, outcome, at, verdict }: SavedCheck): CountedCheck {
  const changed = outcome.events.find((event) => event.type === 'domain.findings_changed');
  const isVerified = outcome.to.status === 'verified' && domain.state.status !== 'verified';
  return {
    verdict,
    isOurTrouble: outcome.findings.some(isOurTrouble),
    appeared: (changed?.appeared ?? []).map(({ code }) => code),
    unseenSeconds: isVerified ? Math.max(0, (at.getTime() - lastSeen(domain)) / 1_000) : null,
  };
}

/** The later of its last check and the start of the epoch. */
function lastSeen({ state, lastCheckedAt }: LoadedDomain): number {
  const since = state.status === 'pending' ? state.pendingSince.getTime() : 0;
  return Math.max(since, lastCheckedAt?.getTime() ?? since);
}

/** `issued` and `refused` once each, even if several runs share the order. */
export function countOrders(store: CertificateStore, count: OrderCounters): CertificateStore {
  return {
    ...store,
    async store(domain, certificateId, issued, at) {
      const isStored = await store.store(domain, certificateId, issued, at);
      const { state } = domain;
      const waitedMs =
        state.status === 'verified' ? at.getTime() - state.verifiedAt.getTime() : null;
      if (isStored) count.issued(waitedMs === null ? null : Math.max(0, waitedMs) / 1_000);
      return isStored;
    },
    async refuse(...refusal) {
      const refused = await store.refuse(...refusal);
      if (refused.hasEnded) count.refused();
      return refused;
    },
    async setBack(...setback) {
      await store.setBack(...setback);
      count.setBack();
    },
  };
}
