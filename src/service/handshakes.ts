/** Connections to the addresses of a customer's name. */
import { setTimeout as wait } from 'node:timers/promises';
import { HTTPS_PORT } from '../certificates/authorities/configured.ts';
import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import { probeAddresses } from '../certificates/reach/challenge-path.ts';
import {
  createExamineReach,
  type ExamineReach,
  type OrderLimits,
  type ReachReport,
  reachRules,
} from '../certificates/reach/examine-reach.ts';
import type { Probes } from '../certificates/served/probe.ts';
import {
  createRecordServedCertificate,
  type RecordServedCertificate,
} from '../certificates/served/served-certificate.ts';
import type { Config } from '../config/config.ts';
import { createServedCertificateStore } from '../db/domains/served-certificates.ts';
import type { Database } from '../db/engine/client.ts';
import type { CertificateStore } from '../db/issuance/certificates.ts';
import type { Observer } from '../dns/observe/observe.ts';
import type { OwnListeners } from '../net/own-addresses.ts';

type Around = {
  readonly config: Config;
  readonly database: Database;
  readonly observer: Observer;
  readonly probes: Probes;
  readonly ownListeners: OwnListeners;
  readonly now: () => Date;
};

export function buildHandshakes(around: Around) {
  return {
    /**
     * Whether each address would serve a challenge. Empty for the local CA, which makes no requests,
     * and if probes are turned off.
     */
    probe: (hostname: string) => probeChallenge(around, hostname),
    /** Compares what visitors are shown with the stored certificates, and stores the result. */
    recordServed: recordServedWith(around),
  };
}

export type Handshakes = ReturnType<typeof buildHandshakes>;

async function probeChallenge(
  { config, observer, ownListeners, probes }: Around,
  hostname: string,
) {
  if (config.acme.directoryUrl === undefined || !config.edge.isProbed) return [];
  const { lookupAddresses } = observer;
  const rules = { ...reachRules({ config, lookupAddresses, probes, ownListeners }), probes };
  return probeAddresses(rules, hostname, await lookupAddresses(hostname));
}

/**
 * An external edge obtains its own certificates, so there is nothing to compare. If our own
 * addresses are unreachable from here, nothing is stored: that says nothing about visitors.
 */
function recordServedWith({ config, database, observer, now }: Around): RecordServedCertificate {
  const isExternal = config.certificates.source === 'external';
  if (isExternal || !config.edge.isProbed) return async () => undefined;
  const { loadChains, save } = createServedCertificateStore(database.prisma, config);
  return createRecordServedCertificate({
    loadChains,
    save,
    lookupAddresses: observer.lookupAddresses,
    port: visitorsPort(config),
    allowPrivate: config.dns.allowPrivate,
    now,
    pause: (ms) => wait(ms),
  });
}

/** Embedded storage has one process, so its edge is the one that visitors reach. */
function visitorsPort({ edge, storage }: Pick<Config, 'edge' | 'storage'>): number {
  const listening = storage.kind === 'embedded' && edge.httpsPort !== 0 ? edge.httpsPort : null;
  return edge.publicHttpsPort ?? listening ?? HTTPS_PORT;
}

/** `domainId`: null if the name is not attached. Takes up to 10 s. Network failures do not reject it, but an unreadable CA file does. */
export type ExamineReachOf = (hostname: string, domainId: string | null) => Promise<ReachReport>;

type ExaminerParts = {
  readonly certificates: Pick<CertificateStore, 'loadWork'>;
  readonly config: Config;
  readonly external: ExternalAuthority | null;
  readonly observer: Observer;
  readonly probes: Probes;
  readonly ownListeners: OwnListeners;
  readonly now: () => Date;
};

export function reachExaminer(around: ExaminerParts): ExamineReachOf {
  const { config, observer, ownListeners, probes, external } = around;
  let examine: ExamineReach | undefined;
  return async (hostname, domainId) => {
    // An external edge answers challenges itself, and orders from another CA.
    examine ??= createExamineReach({
      config,
      lookupAddresses: observer.lookupAddresses,
      ownListeners,
      probes: external === null ? probes : null,
      isAuthorityKnown: external === null,
    });
    return examine(hostname, domainId === null ? null : await findLimits(around, domainId));
  };
}

async function findLimits(
  { certificates, now }: ExaminerParts,
  domainId: string,
): Promise<OrderLimits | null> {
  const work = await certificates.loadWork(domainId, now());
  if (work === undefined) return null;
  const { budgetWaits: waits, lastProblem, recentRefusals, usable } = work;
  const authority = recentRefusals[0]?.authority ?? null;
  const refused = lastProblem && { ...lastProblem, authority };
  return { hasCertificate: usable !== null, waits, refused };
}
