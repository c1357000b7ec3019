import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import {
  createExamineReach,
  type ExamineReach,
  type OrderLimits,
  type ReachReport,
} from '../certificates/reach/examine-reach.ts';
import type { Probes } from '../certificates/served/probe.ts';
import type { Config } from '../config/config.ts';
import type { CertificateStore } from '../db/issuance/certificates.ts';
import type { Observer } from '../dns/observe/observe.ts';

/** `domainId`: null if the name is not attached. Takes up to 10 s. Network failures do not reject it, but an unreadable CA file does. */
export type ExamineReachOf = (hostname: string, domainId: string | null) => Promise<ReachReport>;

type Around = {
  readonly certificates: Pick<CertificateStore, 'loadWork'>;
  readonly config: Config;
  readonly external: ExternalAuthority | null;
  readonly observer: Observer;
  readonly probes: Probes;
  readonly now: () => Date;
};

export function reachExaminer(around: Around): ExamineReachOf {
  const { config, observer, probes, external } = around;
  let examine: ExamineReach | undefined;
  return async (hostname, domainId) => {
    // An external edge answers challenges itself, and orders from another CA.
    examine ??= createExamineReach({
      config,
      lookupAddresses: observer.lookupAddresses,
      probes: external === null ? probes : null,
      isAuthorityKnown: external === null,
    });
    return examine(hostname, domainId === null ? null : await findLimits(around, domainId));
  };
}

async function findLimits(
  { certificates, now }: Around,
  domainId: string,
): Promise<OrderLimits | null> {
  const work = await certificates.loadWork(domainId, now());
  if (work === undefined) return null;
  const { budgetWaits: waits, lastProblem, recentRefusals, usable } = work;
  const authority = recentRefusals[0]?.authority ?? null;
  const refused = lastProblem && { ...lastProblem, authority };
  return { hasCertificate: usable !== null, waits, refused };
}
