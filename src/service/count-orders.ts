import type { CertificateStore } from '../db/issuance/certificates.ts';
import type { OrderCounters } from '../ops/metrics/work.ts';

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
