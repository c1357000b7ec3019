/** Connects the diagnosis of addresses and CAs. */
import {
  createExamineReach,
  type ExamineReach,
  type OrderLimits,
  type ReachReport,
} from '../certificates/reach/examine-reach.ts';
import type { Service } from './service.ts';

/** `domainId`: null if the name is not attached. Rejects if a CA file cannot be read. */
export function composeExamineReach(
  service: Service,
): (hostname: string, domainId: string | null) => Promise<ReachReport> {
  const { config, observer, probes, external } = service;
  let examine: ExamineReach | undefined;
  return async (hostname, domainId) => {
    // An external edge answers challenges itself, and orders from another CA.
    examine ??= createExamineReach({
      config,
      lookupAddresses: observer.lookupAddresses,
      probes: external === null ? probes : null,
      isAuthorityKnown: external === null,
    });
    return examine(hostname, domainId === null ? null : await findLimits(service, domainId));
  };
}

async function findLimits(
  { certificates, now }: Service,
  domainId: string,
): Promise<OrderLimits | null> {
  const work = await certificates.loadWork(domainId, now());
  if (work === undefined) return null;
  const { budgetWaits: waits, lastProblem, recentRefusals, usable } = work;
  const authority = recentRefusals[0]?.authority ?? null;
  const refused = lastProblem && { ...lastProblem, authority };
  return { hasCertificate: usable !== null, waits, refused };
}
