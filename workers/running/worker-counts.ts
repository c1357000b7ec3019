/** From what workers save to what is counted of it. */

import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { CountCheck, CountedCheck, OrderCounters } from '../../src/ops/metrics/work.ts';
import type { SavedCheck } from '../check-dns.ts';

/** Returns the function that counts every check that is saved. */
export function countChecks(count: CountCheck): (check: SavedCheck) => void {
  return (check) => count(countedCheckOf(check));
}

/** Returns what is counted of a check: `unchanged` where a light check gave the loaded observation back. */
export function countedCheckOf({
  domain,
  observation,
  outcome,
  at,
  verdict,
}: SavedCheck): CountedCheck {
  // A light check that finds nothing new gives the very object that was loaded.
  const wasConclusive = !domain.findings.some(({ code }) => code === 'dns_unknown');
  const isSame = observation === domain.observation && verdict === 'unknown' && wasConclusive;
  const changed = outcome.events.find((event) => event.type === 'domain.findings_changed');
  const isVerified = outcome.to.status === 'verified' && domain.state.status !== 'verified';
  return {
    verdict: isSame ? 'unchanged' : verdict,
    appeared: (changed?.appeared ?? []).map(({ code }) => code),
    unseenSeconds: isVerified ? Math.max(0, (at.getTime() - lastSeen(domain)) / 1_000) : null,
  };
}

/** When it was last checked in this epoch, or when that began. */
function lastSeen({ state, lastCheckedAt }: LoadedDomain): number {
  const since = state.status === 'pending' ? state.pendingSince.getTime() : 0;
  return Math.max(since, lastCheckedAt?.getTime() ?? since);
}

/**
 * Returns the same store, which counts what became of orders: `issued` and `refused` once for each, however
 * many runs share it; setbacks with each call.
 */
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
