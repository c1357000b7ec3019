/** The worker role: what every queue's worker and every sweep is handed, and its start. */
import { setTimeout as wait } from 'node:timers/promises';
import { type AskRenewalsDeps, askRenewals } from '../../workers/ask-renewals.ts';
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
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { askRenewal } from '../certificates/authorities/authority.ts';
import { scaleOf } from '../core/life/ladder.ts';
import type { SweepQueue } from '../core/operations/jobs.ts';
import type { Certificate } from '../core/records.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createDueDomains } from '../db/domains/sweeps.ts';
import { createRepairStore } from '../db/domains/waiting.ts';
import { clockSkewMs } from '../db/engine/client.ts';
import { openRenewalEscalation, postponeRenewalEscalation } from '../db/issuance/escalations.ts';
import { createRenewalStore } from '../db/issuance/renewals.ts';
import type { Earlier } from '../dns/observe/observe.ts';
import { inSpan } from '../net/tracing.ts';
import { earlierOf, observeDomain } from './checks.ts';
import { escalateDeps, issueDeps } from './orders.ts';
import type { Closing, Parts } from './parts.ts';
import { deliverDeps, relayDeps } from './webhooks.ts';

/** However short a laboratory's window is: each turn costs the queue and the database some milliseconds. */
const SWEEP_MS_MIN = 1_000;

/** Builds what the workers are handed. Starts nothing. */
export function composeWorkers(parts: Parts): WorkerDeps {
  const { backend, queues, waiting, log, now, config } = parts;
  const quarantine = createQuarantineStore(parts.database.prisma);
  const waitScale = scaleOf(config.verifyWindowMs);
  const sweepEveryMs = {
    'recheck-live': Math.max(SWEEP_MS_MIN, 10_000 * waitScale),
    'renew-certificate': Math.max(SWEEP_MS_MIN, 60_000 * waitScale),
  };
  const issue = issueDeps(parts);
  const escalate = escalateDeps(parts, issue);
  return {
    backend,
    log,
    ...(parts.metrics && { count: parts.metrics.job }),
    now,
    // The embedded one has no clock but ours.
    ...(config.storage.kind !== 'embedded' && {
      clockSkewMs: () => clockSkewMs(parts.database.pool),
    }),
    quarantine,
    waitScale,
    checkDns: {
      ...issue,
      load: parts.checks.load,
      observe: (domain) => observeDomain(parts, domain, earlierOf(parts, domain)),
    },
    issueCertificate: issue,
    escalateCertificate: escalate,
    ...sweeps(parts, issue, escalate),
    ...deliveries(parts),
    sweepEveryMs,
    reconcile: {
      waiting,
      queues,
      quarantine,
      repairs: createRepairStore(parts.database.prisma),
      now,
      sweepEveryMs,
      pause: (ms) => wait(ms),
    },
    // A check waits for the network most of the time; many at once travel to the database together. A queue in
    // PostgreSQL is slower than that, whatever the number.
    checksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    // A laboratory's short window makes everything quicker, the repairs too.
    reconcileEveryMs: Math.min(20_000, Math.max(1_000, config.verifyWindowMs / 200)),
  };
}

/** Webhooks. */
function deliveries(parts: Parts): Pick<WorkerDeps, 'deliverWebhook' | 'relayDeliveries'> {
  const deps = deliverDeps(parts);
  return {
    deliverWebhook: (delivery) => deliverWebhook(deps, delivery),
    relayDeliveries: createRelay(relayDeps(parts)),
  };
}

/** Starts the workers of every queue and the timers; adds to `closings` what ends them. */
export async function startWork(parts: Parts, closings: Closing[]): Promise<void> {
  const workers = startWorkers(composeWorkers(parts));
  closings.push((deadlineMs) => workers.close(deadlineMs));
}

/** Builds the checks of settled domains and the renewals, each with the rows that are due for it. */
export function sweeps(
  parts: Parts,
  issue: IssueCertificateDeps,
  escalate: EscalateCertificateDeps,
): Pick<WorkerDeps, 'recheckLive' | 'renewCertificate' | 'escalateRenewals' | 'askRenewals'> {
  const { checks, config, database, log, now } = parts;
  const onFaultIn = (queue: SweepQueue) => (err: unknown, domainId: string) =>
    log.error({ err, queue, domainId }, 'a sweep met a fault at one domain');
  const atEnd: RecheckLiveDeps['escalationAtEnd'] = (...asked) =>
    escalationAtEnd(escalate, ...asked);
  const shared = { ...issue, onFault: onFaultIn('renew-certificate'), escalationAtEnd: atEnd };
  const rechecked = (domain: LoadedDomain, earlier?: Earlier) =>
    inSpan('recheck-live domain', { 'signpost.domain.id': domain.id }, () =>
      observeDomain(parts, domain, earlier),
    );
  const recheck: RecheckLiveDeps = {
    ...shared,
    onFault: onFaultIn('recheck-live'),
    due: createDueDomains(database.prisma, 'recheck-live'),
    load: checks.load,
    observe: (domain) => rechecked(domain, earlierOf(parts, domain)),
    observeInFull: (domain) => rechecked(domain),
    // Beside the checks of pending domains, for which somebody waits. 100,000 live ones are 33 checks a second.
    atOnce: config.storage.kind === 'postgres_redis' ? 100 : 25,
  };
  const due = createDueDomains(database.prisma, 'renew-certificate');
  // An order waits for its authority most of the time. Ten a second, where one takes five: a revocation leaves a day.
  const orders = config.storage.kind === 'embedded' ? 10 : 50;
  const renew: RenewCertificateDeps = { ...shared, due, atOnce: orders };
  const quarantine = createQuarantineStore(database.prisma);
  const overdue: EscalateRenewalDeps = {
    ...escalate,
    onFault: shared.onFault,
    due: createDueDomains(database.prisma, 'escalate-renewals'),
    openEscalation: (domain, escalation, times) =>
      openRenewalEscalation(database.prisma, domain, escalation, times),
    postponeEscalation: (domain, at) => postponeRenewalEscalation(database.prisma, domain, at),
    findQuarantine: (domainId) => quarantine.find('renew-certificate', domainId, now()),
    atOnce: 4,
  };
  const asked: AskRenewalsDeps = { ...askDeps(parts, issue), onFault: shared.onFault };
  return {
    recheckLive: (stop) => recheckLive(recheck, stop),
    renewCertificate: (stop) => renewCertificate(renew, stop),
    escalateRenewals: (stop) => escalateRenewals(overdue, stop),
    askRenewals: (stop) => askRenewals(asked, stop),
  };
}

/** Asking is a courtesy of the authorities: neither many at once, nor before anything else. */
function askDeps(parts: Parts, { rules, now }: IssueCertificateDeps) {
  const { authorities, certificates, database } = parts;
  return {
    rules,
    now,
    loadWork: certificates.loadWork,
    plan: createRenewalStore(database.prisma).plan,
    ask: (certificate: Certificate) => askRenewal(authorities, certificate),
    due: createDueDomains(database.prisma, 'ask-renewals'),
    atOnce: 10,
  };
}
