/** The worker role: what every queue's worker and every sweep is handed, and its start. */
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
import { createRelay } from '../../workers/relay-deliveries.ts';
import { type RenewCertificateDeps, renewCertificate } from '../../workers/renew-certificate.ts';
import type { ReconcileDeps } from '../../workers/repair/compare-queue.ts';
import { createFullChecks } from '../../workers/running/full-checks.ts';
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { createWarnHolder } from '../../workers/warn-holder.ts';
import { askRenewal } from '../certificates/authorities/authority.ts';
import { scaleOf } from '../core/life/ladder.ts';
import type { SweepQueue } from '../core/operations/jobs.ts';
import { isCovered } from '../core/watch/coverage.ts';
import { createApiKeyStore } from '../db/api-keys.ts';
import { createAuditStore } from '../db/audit.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createDueDomains } from '../db/domains/sweeps.ts';
import { createRepairStore } from '../db/domains/waiting.ts';
import { clockSkewMs } from '../db/engine/client.ts';
import { openRenewalEscalation, postponeRenewalEscalation } from '../db/issuance/escalations.ts';
import { createRenewalStore } from '../db/issuance/renewals.ts';
import { createSessionStore } from '../db/sessions.ts';
import type { Earlier } from '../dns/observe/observe.ts';
import { inSpan } from '../net/tracing.ts';
import { earlierOf, escalateDeps, issueDeps, isWatchOn, observeDomain } from './orders.ts';
import type { Closing, Parts } from './parts.ts';
import { startWatch } from './watch.ts';
import { deliverDeps, relayDeps } from './webhooks.ts';

/** However short a laboratory's window is: each turn costs the queue and the database some milliseconds. */
const SWEEP_MS_MIN = 1_000;

/** Builds what the workers are handed. Starts nothing. */
export function composeWorkers(parts: Parts): WorkerDeps {
  const { backend, log, now, config, metrics } = parts;
  const issue = issueDeps(parts);
  const escalate = escalateDeps(parts, issue);
  const sweeps = composeSweeps(parts, issue, escalate);
  const deliver = deliverDeps(parts);
  const waitScale = scaleOf(config.verifyWindowMs);
  const sweepEveryMs = {
    'recheck-live': Math.max(SWEEP_MS_MIN, 10_000 * waitScale),
    'renew-certificate': Math.max(SWEEP_MS_MIN, 60_000 * waitScale),
  };
  return {
    backend,
    log,
    takePriority: parts.takePriority,
    ...(metrics && { count: metrics.job }),
    now,
    // The embedded one has no clock but ours.
    ...(config.storage.kind !== 'embedded' && {
      clockSkewMs: () => clockSkewMs(parts.database.pool),
    }),
    quarantine: createQuarantineStore(parts.database.prisma),
    waitScale,
    checkDns: checkDeps(parts, issue),
    issueCertificate: issue,
    escalateCertificate: escalate,
    recheckLive: sweeps.recheckLive,
    renewCertificate: sweeps.renewCertificate,
    escalateRenewals: sweeps.escalateRenewals,
    askRenewals: sweeps.askRenewals,
    deliverWebhook: (delivery) => deliverWebhook(deliver, delivery),
    relayDeliveries: createRelay(relayDeps(parts)),
    sweepEveryMs,
    reconcile: reconcileDeps(parts, sweepEveryMs),
    // A check waits for the network most of the time; many at once travel to the database together. A queue in
    // PostgreSQL is slower than that, whatever the number.
    checksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    // A laboratory's short window makes everything quicker, the repairs too.
    reconcileEveryMs: Math.min(20_000, Math.max(1_000, config.verifyWindowMs / 200)),
  };
}

/** Starts the workers of every queue and the timers; adds to `closings` what ends them. */
export async function startWork(parts: Parts, closings: Closing[]): Promise<void> {
  const workers = startWorkers(composeWorkers(parts));
  closings.push((deadlineMs) => workers.close(deadlineMs));
  const watching = startWatch(parts);
  if (watching !== undefined) closings.push(() => watching.close());
}

function checkDeps(parts: Parts, issue: IssueCertificateDeps): CheckDnsDeps {
  const { save, resolveClaim, enqueueFollowUps, countCheck, diagnose, rules, now } = issue;
  const fullChecks = createFullChecks({ utilization: createUtilization() });
  return {
    load: parts.checks.load,
    async observe(domain) {
      const earlier = earlierOf(parts, domain);
      const observe = () => observeDomain(parts, domain, earlier);
      if (earlier !== undefined) return observe();
      return fullChecks(await parts.accountOf(domain.projectId), observe);
    },
    diagnose,
    save,
    resolveClaim,
    enqueueFollowUps,
    ...(countCheck && { countCheck }),
    ...(isWatchOn(parts.config) && { isCovered }),
    rules,
    now,
  };
}

/** Returns the share of time, since the call before, in which the event loop of this process was busy. */
function createUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

function reconcileDeps(
  { database, queues, waiting, now }: Parts,
  sweepEveryMs: ReconcileDeps['sweepEveryMs'],
): ReconcileDeps {
  return {
    waiting,
    queues,
    quarantine: createQuarantineStore(database.prisma),
    repairs: createRepairStore(database.prisma),
    sessions: createSessionStore(database.prisma),
    audit: createAuditStore(database.prisma),
    keys: createApiKeyStore(database.prisma),
    now,
    sweepEveryMs,
    pause: (ms) => wait(ms),
  };
}

/** The sweeps of a process, each over the rows that are due for it. */
type Sweeps = Pick<
  WorkerDeps,
  'recheckLive' | 'renewCertificate' | 'escalateRenewals' | 'askRenewals'
>;

/** Builds the checks of settled domains and the renewals. */
function composeSweeps(
  parts: Parts,
  issue: IssueCertificateDeps,
  escalate: EscalateCertificateDeps,
): Sweeps {
  const { config, database, log } = parts;
  const onFaultIn = (queue: SweepQueue) => (err: unknown, domainId: string) =>
    log.error({ err, queue, domainId }, 'a sweep met a fault at one domain');
  const onFault = onFaultIn('renew-certificate');
  const atEnd: RecheckLiveDeps['escalationAtEnd'] = (...asked) =>
    escalationAtEnd(escalate, ...asked);
  const recheck = recheckDeps(parts, issue, atEnd, onFaultIn('recheck-live'));
  const renew: RenewCertificateDeps = {
    issue,
    escalationAtEnd: atEnd,
    due: createDueDomains(database.prisma, 'renew-certificate'),
    onFault,
    // An order waits for its authority most of the time. Ten a second, where one takes five: a revocation leaves a day.
    atOnce: config.storage.kind === 'embedded' ? 10 : 50,
  };
  const overdue = overdueDeps(parts, escalate, onFault);
  const asked = askDeps(parts, issue, onFault);
  return {
    recheckLive: (stop) => recheckLive(recheck, stop),
    renewCertificate: (stop) => renewCertificate(renew, stop),
    escalateRenewals: (stop) => escalateRenewals(overdue, stop),
    askRenewals: (stop) => askRenewals(asked, stop),
  };
}

function recheckDeps(
  parts: Parts,
  issue: IssueCertificateDeps,
  escalationAtEnd: RecheckLiveDeps['escalationAtEnd'],
  onFault: RecheckLiveDeps['onFault'],
): RecheckLiveDeps {
  const { save, resolveClaim, enqueueFollowUps, countCheck, diagnose, rules, now } = issue;
  const observe = (domain: LoadedDomain, earlier?: Earlier) =>
    inSpan('recheck-live domain', { 'signpost.domain.id': domain.id }, () =>
      observeDomain(parts, domain, earlier),
    );
  return {
    load: parts.checks.load,
    observe: (domain) => observe(domain, earlierOf(parts, domain)),
    observeInFull: (domain) => observe(domain),
    diagnose,
    save,
    resolveClaim,
    enqueueFollowUps,
    ...(countCheck && { countCheck }),
    recordServedCertificate: issue.recordServedCertificate,
    escalationAtEnd,
    warnHolder: createWarnHolder({
      proofFor: parts.proofFor,
      lookupTexts: parts.observer.lookupTexts,
    }),
    due: createDueDomains(parts.database.prisma, 'recheck-live'),
    onFault,
    // Beside the checks of pending domains, for which somebody waits. 100,000 live ones are 33 checks a second.
    atOnce: parts.config.storage.kind === 'postgres_redis' ? 100 : 25,
    rules,
    now,
  };
}

function overdueDeps(
  { database: { prisma } }: Parts,
  escalate: EscalateCertificateDeps,
  onFault: EscalateRenewalDeps['onFault'],
): EscalateRenewalDeps {
  const { authorities, downForMs, answeredAt, rules, now } = escalate;
  const quarantine = createQuarantineStore(prisma);
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

/** Asking is a courtesy of the authorities: neither many at once, nor before anything else. */
function askDeps(
  { authorities, certificates, database }: Parts,
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
