/** Dependencies of orders, escalations and probes. */
import { randomUUID } from 'node:crypto';
import type { EscalateCertificateDeps } from '../../workers/escalate-certificate.ts';
import type { IssueCertificateDeps } from '../../workers/issue-certificate.ts';
import { advance } from '../../workers/orders/advance-order.ts';
import { createResolveClaim } from '../../workers/resolve-claim.ts';
import { countChecks, countOrders } from '../../workers/running/worker-counts.ts';
import { HTTPS_PORT } from '../certificates/authorities/configured.ts';
import { createAsk } from '../certificates/authorities/health.ts';
import { reachRules } from '../certificates/reach/examine-reach.ts';
import { probeAddresses } from '../certificates/reach/probe-addresses.ts';
import {
  createRecordServedCertificate,
  type RecordServedCertificate,
} from '../certificates/served/served-certificate.ts';
import { generatePrivateKey, sealKey, sealOf } from '../certificates/vault/keys.ts';
import type { Config } from '../config/config.ts';
import { escalationWords } from '../core/certificates/escalation-words.ts';
import { checkDepthOf } from '../core/diagnosis/check-depth.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnosis.ts';
import type { Observation, Observed } from '../core/diagnosis/observation.ts';
import type { CheckRules } from '../core/life/check.ts';
import { splitAtZone } from '../core/names/zone.ts';
import { jobId } from '../core/operations/jobs.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createServedCertificateStore } from '../db/domains/served-certificates.ts';
import { loadOpenEscalation, openEscalation } from '../db/issuance/escalations.ts';
import { inSpan } from '../net/tracing.ts';
import { forgetJobs } from '../queue/queues.ts';
import type { Service } from '../service/service.ts';

export function issueDeps(service: Service): IssueCertificateDeps {
  const { certificates, checks, config, metrics, now, observer, queues, vault } = service;
  return {
    now,
    certificates: metrics ? countOrders(certificates, metrics.order) : certificates,
    ...(metrics && { countCheck: countChecks(metrics.check) }),
    save: checks.save,
    resolveClaim: createResolveClaim({
      proofFor: service.proofFor,
      lookupTexts: observer.lookupTexts,
    }),
    observe: (domain) => observeDomain(service, domain),
    diagnose: async ({ hostname, target }, observation) =>
      diagnoseForAny(observation, {
        hostname,
        target,
        authorities: await service.caaAuthorities(),
        allowPrivate: config.dns.allowPrivate,
      }),
    authorities: service.authorities.map(({ directoryUrl }) => directoryUrl),
    downForMs: service.health.downForMs,
    answeredAt: service.health.answeredAt,
    ask: createAsk(service.authorities, service.health),
    rules: (at) => checkRules(config, at),
    async enqueueFollowUps({ id, epoch }, { to, nextCheckAt, escalateAt }) {
      await service.wake({ id, epoch, status: to.status, nextCheckAt, escalateAt });
      // The return to pending started a new epoch (src/db/domains/transitions.ts); the previous
      // epoch's jobs are removed.
      if (to.status === 'pending') await forgetJobs(queues, { domainId: id, epoch: epoch - 1 });
    },
    recordServedCertificate: composeRecordServedCertificate(service),
    probe: (hostname) => probeChallenge(service, hostname),
    forgetEscalation: (job) => queues.remove('escalate-certificate', job),
    async newKey() {
      const id = randomUUID();
      if (service.external !== null) return { id, sealedKey: null };
      return { id, sealedKey: sealKey(vault, generatePrivateKey(), sealOf(id)) };
    },
    advance: (order, predecessor) =>
      inSpan('advance order', { 'signpost.domain.id': order.domainId }, () =>
        advance(service, order, predecessor),
      ),
  };
}

/**
 * An external edge obtains its own certificates, so there is nothing to compare. If our own
 * addresses are unreachable from here, nothing is stored: that says nothing about visitors.
 */
function composeRecordServedCertificate({
  config,
  database,
  external,
  now,
  observer,
}: Service): RecordServedCertificate {
  if (external !== null || !config.edge.isProbed) return async () => undefined;
  const { loadChains, save } = createServedCertificateStore(database.prisma, config);
  return createRecordServedCertificate({
    loadChains,
    save,
    lookupAddresses: observer.lookupAddresses,
    port: visitorsPort(config),
    allowPrivate: config.dns.allowPrivate,
    now,
  });
}

/** Embedded storage has one process, so its edge is the one that visitors reach. */
function visitorsPort({ edge, storage }: Pick<Config, 'edge' | 'storage'>): number {
  const listening = storage.kind === 'embedded' && edge.httpsPort !== 0 ? edge.httpsPort : null;
  return edge.publicHttpsPort ?? listening ?? HTTPS_PORT;
}

/** In addition to those of orders. */
export function escalateDeps(
  service: Service,
  issue: IssueCertificateDeps,
): EscalateCertificateDeps {
  const { certificates, database, quarantine } = service;
  const { authorities, downForMs, answeredAt, rules, now } = issue;
  return {
    observe: issue.observe,
    diagnose: issue.diagnose,
    save: issue.save,
    enqueueFollowUps: issue.enqueueFollowUps,
    probe: issue.probe,
    loadWork: certificates.loadWork,
    loadOpen: (domainId) => loadOpenEscalation(database.prisma, domainId),
    openEscalation: (domain, escalation, times) =>
      openEscalation(database.prisma, domain, escalation, times),
    findQuarantine: (job) => quarantine.find('issue-certificate', jobId(job), now()),
    attemptNow: (job) => service.bringNow('issue-certificate', job),
    logEscalation: ({ id: domainId, hostname }, { cause, evidence }) => {
      const { summary } = escalationWords(cause, evidence, 'operator');
      service.log.warn({ domainId, domain: hostname, cause, summary }, 'escalation opened');
    },
    authorities,
    downForMs,
    answeredAt,
    rules,
    now,
  };
}

/** The local CA needs no challenge. No probe if our own addresses are unreachable from here. */
async function probeChallenge({ config, observer, probes }: Service, hostname: string) {
  if (config.acme.directoryUrl === undefined || !config.edge.isProbed) return [];
  const { lookupAddresses } = observer;
  const rules = { ...reachRules(config, lookupAddresses, probes), probes };
  return probeAddresses(rules, hostname, await lookupAddresses(hostname));
}

type ObservedName = { readonly hostname: string; readonly target: string };

/** Network failures do not reject it. */
export function observeDomain({ observer }: Service, domain: ObservedName): Promise<Observation> {
  return inSpan('observe the DNS', {}, () => observer.observe(checkTargetOf(domain)));
}

/** A light check unless a full one is due. */
export async function observeAgain(service: Service, domain: LoadedDomain): Promise<Observed> {
  const { now, config, observer } = service;
  const { observation } = domain;
  const depth = checkDepthOf(domain, now(), config.verifyWindowMs);
  if (depth === 'full' || observation === null) {
    return { kind: 'observed', observation: await observeDomain(service, domain) };
  }
  const earlier = { observation, depth };
  return inSpan('observe the DNS', {}, () => observer.observeAgain(checkTargetOf(domain), earlier));
}

function checkTargetOf({ hostname, target }: ObservedName) {
  return { hostname, target, apex: splitAtZone(hostname).apex };
}

function checkRules({ verifyWindowMs, timeScale, escalateAfterMs }: Config, now: Date): CheckRules {
  const jitter = Math.random();
  return { now, windowMs: verifyWindowMs, timeScale, escalateAfterMs, jitter };
}
