import { setTimeout as wait } from 'node:timers/promises';
import { type AskRenewalsDeps, askRenewals } from '../../workers/ask-renewals.ts';
import type { CheckDnsDeps } from '../../workers/check-dns.ts';
import { deliverWebhook } from '../../workers/deliver-webhook.ts';
import type { EscalateCertificateDeps } from '../../workers/escalate-certificate.ts';
import {
  type EscalateRenewalDeps,
  escalateRenewals,
  escalationAtEnd,
} from '../../workers/escalate-renewal.ts';
import type { IssueCertificateDeps } from '../../workers/issue-certificate.ts';
import { type RecheckLiveDeps, recheckLive } from '../../workers/recheck-live.ts';
import { RECONCILE_EVERY_MS } from '../../workers/reconcile.ts';
import { createRelay } from '../../workers/relay-deliveries.ts';
import { type RenewCertificateDeps, renewCertificate } from '../../workers/renew-certificate.ts';
import type { ReconcileDeps } from '../../workers/repair/compare-queue.ts';
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { askRenewal } from '../certificates/authorities/authority.ts';
import type { SweepQueue } from '../core/operations/jobs.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createDueDomains } from '../db/domains/sweeps.ts';
import { createRepairStore } from '../db/domains/waiting.ts';
import { clockSkewMs } from '../db/engine/client.ts';
import { openRenewalEscalation, postponeRenewalEscalation } from '../db/issuance/escalations.ts';
import { createRenewalStore } from '../db/issuance/renewals.ts';
import { inSpan } from '../net/tracing.ts';
import type { Closing, Service } from '../service/service.ts';
import { escalateDeps, issueDeps, observeAgain, observeDomain } from './orders.ts';
import { deliverDeps, relayDeps } from './webhooks.ts';

/** Each run costs the queue and the database a few milliseconds, even in a test lab. */
const SWEEP_MS_MIN = 1_000;
/** In test labs, where more runs would only cost time. */
const RECONCILE_MS_MIN = 3_000;

/** Starts nothing. */
export function composeWorkers(service: Service): WorkerDeps {
  const { backend, log, now, config, metrics } = service;
  const issue = issueDeps(service);
  const escalate = escalateDeps(service, issue);
  const sweeps = composeSweeps(service, issue, escalate);
  const deliver = deliverDeps(service);
  const { timeScale } = config;
  const sweepEveryMs = {
    'recheck-live': Math.max(SWEEP_MS_MIN, 10_000 / timeScale),
    'renew-certificate': Math.max(SWEEP_MS_MIN, 60_000 / timeScale),
  };
  return {
    backend,
    log,
    ...(metrics && { count: metrics.job }),
    now,
    // The embedded queue uses our own clock.
    ...(config.storage.kind !== 'embedded' && {
      clockSkewMs: () => clockSkewMs(service.database.pool),
    }),
    quarantine: service.quarantine,
    timeScale,
    checkDns: checkDeps(service, issue),
    issueCertificate: issue,
    escalateCertificate: escalate,
    recheckLive: sweeps.recheckLive,
    renewCertificate: sweeps.renewCertificate,
    escalateRenewals: sweeps.escalateRenewals,
    askRenewals: sweeps.askRenewals,
    deliverWebhook: (delivery) => deliverWebhook(deliver, delivery),
    relayDeliveries: createRelay(relayDeps(service)),
    sweepEveryMs,
    reconcile: reconcileDeps(service, sweepEveryMs),
    // Checks mostly wait for the network; concurrent ones share database round trips. A PostgreSQL
    // queue is slower regardless of this number.
    checksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    reconcileEveryMs: Math.max(RECONCILE_MS_MIN, RECONCILE_EVERY_MS / timeScale),
  };
}

/** Adds their shutdown to `closings`. */
export async function startWork(service: Service, closings: Closing[]): Promise<void> {
  const workers = startWorkers(composeWorkers(service));
  closings.push((deadlineMs) => workers.close(deadlineMs));
}

function checkDeps(service: Service, issue: IssueCertificateDeps): CheckDnsDeps {
  const { save, resolveClaim, enqueueFollowUps, countCheck, diagnose, rules, now } = issue;
  return {
    load: service.checks.load,
    observeAgain: (domain) => observeAgain(service, domain),
    diagnose,
    save,
    resolveClaim,
    enqueueFollowUps,
    ...(countCheck && { countCheck }),
    rules,
    now,
  };
}

function reconcileDeps(
  { database, quarantine, queues, waiting, now }: Service,
  sweepEveryMs: ReconcileDeps['sweepEveryMs'],
): ReconcileDeps {
  return {
    waiting,
    queues,
    quarantine,
    repairs: createRepairStore(database.prisma),
    now,
    sweepEveryMs,
    pause: (ms) => wait(ms),
  };
}

type Sweeps = Pick<
  WorkerDeps,
  'recheckLive' | 'renewCertificate' | 'escalateRenewals' | 'askRenewals'
>;

function composeSweeps(
  service: Service,
  issue: IssueCertificateDeps,
  escalate: EscalateCertificateDeps,
): Sweeps {
  const { config, database, log } = service;
  const onFaultIn = (queue: SweepQueue) => (err: unknown, domainId: string) =>
    log.error({ err, queue, domainId }, 'sweep failed for one domain');
  const onFault = onFaultIn('renew-certificate');
  const atEnd: RecheckLiveDeps['escalationAtEnd'] = (...asked) =>
    escalationAtEnd(escalate, ...asked);
  const recheck = recheckDeps(service, issue, atEnd, onFaultIn('recheck-live'));
  const renew: RenewCertificateDeps = {
    issue,
    escalationAtEnd: atEnd,
    due: createDueDomains(database.prisma, 'renew-certificate'),
    onFault,
    // Orders mostly wait for the CA. Five per second are needed if a revocation must be handled
    // within a day; this allows ten.
    atOnce: config.storage.kind === 'embedded' ? 10 : 50,
  };
  const overdue = overdueDeps(service, escalate, onFault);
  const asked = askDeps(service, issue, onFault);
  return {
    recheckLive: (stop) => recheckLive(recheck, stop),
    renewCertificate: (stop) => renewCertificate(renew, stop),
    escalateRenewals: (stop) => escalateRenewals(overdue, stop),
    askRenewals: (stop) => askRenewals(asked, stop),
  };
}

function recheckDeps(
  service: Service,
  issue: IssueCertificateDeps,
  escalationAtEnd: RecheckLiveDeps['escalationAtEnd'],
  onFault: RecheckLiveDeps['onFault'],
): RecheckLiveDeps {
  const { save, resolveClaim, enqueueFollowUps, countCheck, diagnose, rules, now } = issue;
  const span = <T>(domain: LoadedDomain, work: () => Promise<T>) =>
    inSpan('recheck-live domain', { 'signpost.domain.id': domain.id }, work);
  return {
    load: service.checks.load,
    observeAgain: (domain) => span(domain, () => observeAgain(service, domain)),
    observe: (domain) => span(domain, () => observeDomain(service, domain)),
    diagnose,
    save,
    resolveClaim,
    enqueueFollowUps,
    ...(countCheck && { countCheck }),
    recordServedCertificate: issue.recordServedCertificate,
    escalationAtEnd,
    due: createDueDomains(service.database.prisma, 'recheck-live'),
    onFault,
    // Runs beside the checks of pending domains, which take priority. 100,000 live domains are 33
    // checks per second.
    atOnce: service.config.storage.kind === 'postgres_redis' ? 100 : 25,
    rules,
    now,
  };
}

function overdueDeps(
  { database: { prisma }, quarantine }: Service,
  escalate: EscalateCertificateDeps,
  onFault: EscalateRenewalDeps['onFault'],
): EscalateRenewalDeps {
  const { authorities, downForMs, answeredAt, rules, now } = escalate;
  return {
    loadWork: escalate.loadWork,
    loadOpen: escalate.loadOpen,
    observe: escalate.observe,
    diagnose: escalate.diagnose,
    probe: escalate.probe,
    logEscalation: escalate.logEscalation,
    openEscalation: (domain, escalation, times) =>
      openRenewalEscalation(prisma, domain, escalation, times),
    postponeEscalation: (domain, at) => postponeRenewalEscalation(prisma, domain, at),
    findQuarantine: (domainId) => quarantine.find('renew-certificate', domainId, now()),
    due: createDueDomains(prisma, 'escalate-renewals'),
    onFault,
    atOnce: 4,
    authorities,
    downForMs,
    answeredAt,
    rules,
    now,
  };
}

/** Renewal info is optional: few at once, and after everything else. */
function askDeps(
  { authorities, certificates, database }: Service,
  { rules, now }: IssueCertificateDeps,
  onFault: AskRenewalsDeps['onFault'],
): AskRenewalsDeps {
  return {
    loadWork: certificates.loadWork,
    plan: createRenewalStore(database.prisma).plan,
    ask: (certificate) => askRenewal(authorities, certificate),
    due: createDueDomains(database.prisma, 'ask-renewals'),
    onFault,
    atOnce: 10,
    rules,
    now,
  };
}
