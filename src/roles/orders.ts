/** What orders, escalations and their probes are handed. */
import { randomUUID } from 'node:crypto';
import type { EscalateCertificateDeps } from '../../workers/escalate-certificate.ts';
import type { IssueCertificateDeps } from '../../workers/issue-certificate.ts';
import { advance } from '../../workers/orders/advance-order.ts';
import { createResolveClaim } from '../../workers/resolve-claim.ts';
import { countChecks, countOrders } from '../../workers/running/worker-counts.ts';
import { HTTPS_PORT } from '../certificates/authorities/configured.ts';
import { createAsk } from '../certificates/authorities/health.ts';
import { probeAddresses } from '../certificates/served/probe.ts';
import {
  createRecordServedCertificate,
  type RecordServedCertificate,
} from '../certificates/served/served-certificate.ts';
import { generateCertificateKey, sealKey, sealOf } from '../certificates/vault/keys.ts';
import { escalationWords } from '../core/certificates/escalation-words.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnosis.ts';
import { jobId } from '../core/operations/jobs.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createServedCertificateStore } from '../db/domains/served-certificates.ts';
import { loadOpenEscalation, openEscalation } from '../db/issuance/escalations.ts';
import { inSpan } from '../net/tracing.ts';
import { forgetJobs } from '../queue/queues.ts';
import { checkRules, observeDomain } from './checks.ts';
import type { Parts } from './parts.ts';

/** Builds what issue-certificate, the renewals and the escalations are handed. Asks nobody. */
export function issueDeps(parts: Parts): IssueCertificateDeps {
  const { certificates, checks, config, metrics, now, observer, queues, vault } = parts;
  return {
    now,
    certificates: metrics ? countOrders(certificates, metrics.order) : certificates,
    ...(metrics && { countCheck: countChecks(metrics.check) }),
    save: checks.save,
    resolveClaim: createResolveClaim({
      proofFor: parts.proofFor,
      lookupTexts: observer.lookupTexts,
    }),
    observe: (domain) => observeDomain(parts, domain),
    diagnose: async ({ hostname, target }, observation) =>
      diagnoseForAny(observation, {
        hostname,
        target,
        authorities: await parts.caaAuthorities(),
        allowPrivate: config.dns.allowPrivate,
      }),
    authorities: parts.authorities.map(({ directoryUrl }) => directoryUrl),
    downForMs: parts.health.downForMs,
    answeredAt: parts.health.answeredAt,
    ask: createAsk(parts.authorities, parts.health),
    rules: (at) => checkRules(config, at),
    async enqueueFollowUps({ id, epoch }, { to, nextCheckAt, escalateAt }) {
      await parts.wake({ id, epoch, status: to.status, nextCheckAt, escalateAt });
      // The way back to pending began an epoch (src/db/domains/transitions.ts); the jobs of the one before only wait to end.
      if (to.status === 'pending') await forgetJobs(queues, { domainId: id, epoch: epoch - 1 });
    },
    recordServedCertificate: composeRecordServedCertificate(parts),
    probe: (hostname) => probeChallenge(parts, hostname),
    forgetEscalation: (job) => queues.remove('escalate-certificate', job),
    async newKey() {
      const id = randomUUID();
      if (parts.external !== null) return { id, sealedKey: null };
      return { id, sealedKey: sealKey(vault, generateCertificateKey(), sealOf(id)) };
    },
    advance: (order, predecessor) =>
      inSpan('advance order', { 'signpost.domain.id': order.domainId }, () =>
        advance(parts, order, predecessor),
      ),
  };
}

/**
 * Another edge is asked with the order that it was given, and nothing of it is kept here to be compared with. Nor is
 * anything noted where our own addresses cannot be reached from here: it would say nothing of what visitors see.
 */
function composeRecordServedCertificate({
  config,
  database,
  external,
  now,
  observer,
}: Parts): RecordServedCertificate {
  if (external !== null || !config.edge.isProbed) return async () => undefined;
  return createRecordServedCertificate({
    ...createServedCertificateStore(database.prisma, config),
    lookupAddresses: observer.lookupAddresses,
    port: config.edge.publicHttpsPort ?? HTTPS_PORT,
    allowPrivate: config.dns.allowPrivate,
    now,
  });
}

/** Builds what escalate-certificate is handed, on top of what orders are. */
export function escalateDeps(parts: Parts, issue: IssueCertificateDeps): EscalateCertificateDeps {
  const { certificates, database } = parts;
  const quarantine = createQuarantineStore(database.prisma);
  return {
    ...issue,
    loadWork: certificates.loadWork,
    loadOpen: (domainId) => loadOpenEscalation(database.prisma, domainId),
    openEscalation: (domain, escalation, times) =>
      openEscalation(database.prisma, domain, escalation, times),
    findQuarantine: (job) => quarantine.find('issue-certificate', jobId(job), parts.now()),
    attemptNow: (job) => parts.bringNow('issue-certificate', job),
    logEscalation: ({ id: domainId, hostname }, { cause, evidence }) => {
      const { summary } = escalationWords(cause, evidence, 'operator');
      parts.log.warn({ domainId, hostname, cause, summary }, 'escalation opened');
    },
  };
}

/** The local authority asks for no challenge; and where our own addresses cannot be reached from here, we ask for none. */
async function probeChallenge({ config, observer, probes }: Parts, hostname: string) {
  const { directoryUrl, challenge, httpPort, tlsPort } = config.acme;
  if (directoryUrl === undefined || !config.edge.isProbed) return [];
  const port = challenge === 'http-01' ? httpPort : tlsPort;
  const deps = { probes, challenge, port, allowPrivate: config.dns.allowPrivate };
  return probeAddresses(deps, hostname, await observer.lookupAddresses(hostname));
}
