/** What each worker is handed, from the parts that compose.ts builds. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type AskRenewalsDeps, askRenewals } from '../../workers/ask-renewals.ts';
import { deliverWebhook } from '../../workers/deliver-webhook.ts';
import type { EscalateCertificateDeps } from '../../workers/escalate-certificate.ts';
import {
  caseAtEnd,
  type EscalateRenewalDeps,
  escalateRenewals,
} from '../../workers/escalate-renewal.ts';
import type { IssueCertificateDeps } from '../../workers/issue-certificate.ts';
import { createJudgeClaim } from '../../workers/resolve-claim.ts';
import { advance } from '../../workers/orders/advance-order.ts';
import { type RecheckLiveDeps, recheckLive } from '../../workers/recheck-live.ts';
import { createRelay } from '../../workers/relay-deliveries.ts';
import { type RenewCertificateDeps, renewCertificate } from '../../workers/renew-certificate.ts';
import { countOrders, tellChecks } from '../../workers/running/worker-counts.ts';
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { askRenewal } from '../certificates/authorities/authority.ts';
import { HTTPS_PORT } from '../certificates/authorities/configured.ts';
import { createAsk } from '../certificates/authorities/health.ts';
import { probeAddresses } from '../certificates/served/reachability.ts';
import { createNoteShown, type NoteShown } from '../certificates/served/served-certificate.ts';
import { generateCertificateKey, sealKey, sealOf } from '../certificates/vault/keys.ts';
import type { Config } from '../config/config.ts';
import { escalationWords } from '../core/certificates/escalation-words.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnosis.ts';
import type { Observation } from '../core/diagnosis/observation.ts';
import { scrutinyOf } from '../core/diagnosis/check-depth.ts';
import type { CheckRules } from '../core/life/check.ts';
import { scaleOf } from '../core/life/ladder.ts';
import { splitAtZone } from '../core/names/zone.ts';
import { jobId, type SweepQueue } from '../core/operations/jobs.ts';
import type { LoadedDomain } from '../db/domains/domain-row.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createShownStore } from '../db/domains/served-certificates.ts';
import { createDueDomains } from '../db/domains/sweeps.ts';
import { createRepairStore } from '../db/domains/waiting.ts';
import { clockSkewMs } from '../db/engine/client.ts';
import type { Certificate } from '../db/generated/client.ts';
import {
  loadOpenEscalation,
  openEscalation,
  openRenewalEscalation,
  postponeRenewalEscalation,
} from '../db/issuance/escalations.ts';
import { createRenewalStore } from '../db/issuance/renewals.ts';
import type { Earlier } from '../dns/observe/observe.ts';
import { inSpan } from '../net/tracing.ts';
import { forgetJobs } from '../queue/queues.ts';
import type { Closing } from './closing.ts';
import type { Parts } from './parts.ts';
import { deliverDeps, relayDeps } from './webhooks.ts';

/** However short a laboratory's window: each turn costs the queue and the database some milliseconds. */
const SWEEP_MS_MIN = 1_000;

/** The functions that the workers are handed. */
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
      observe: (domain) => look(parts, domain, earlierOf(parts, domain)),
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
    // A look waits for the network most of the time; many at once travel to the database together. A queue in
    // PostgreSQL is slower than that, whatever the number.
    looksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    // A laboratory's short window makes everything quicker, the repairs too.
    reconcileEveryMs: Math.min(20_000, Math.max(1_000, config.verifyWindowMs / 200)),
  };
}

/** Looks at settled domains, and renewals. */
function sweeps(
  parts: Parts,
  issue: IssueCertificateDeps,
  escalate: EscalateCertificateDeps,
): Pick<WorkerDeps, 'recheckLive' | 'renewCertificate' | 'escalateRenewals' | 'askRenewals'> {
  const { checks, config, database, log, now } = parts;
  const onFaultIn = (queue: SweepQueue) => (err: unknown, domainId: string) =>
    log.error({ err, queue, domainId }, 'a sweep met a fault at one domain');
  const atEnd: RecheckLiveDeps['caseAtEnd'] = (...asked) => caseAtEnd(escalate, ...asked);
  const shared = { ...issue, onFault: onFaultIn('renew-certificate'), caseAtEnd: atEnd };
  const rechecked = (domain: LoadedDomain, earlier?: Earlier) =>
    inSpan('recheck-live domain', { 'signpost.domain.id': domain.id }, () =>
      look(parts, domain, earlier),
    );
  const recheck: RecheckLiveDeps = {
    ...shared,
    onFault: onFaultIn('recheck-live'),
    due: createDueDomains(database.prisma, 'recheck-live'),
    load: checks.load,
    observe: (domain) => rechecked(domain, earlierOf(parts, domain)),
    observeInFull: (domain) => rechecked(domain),
    // Beside the looks at pending domains, for which somebody waits. 100,000 live ones are 33 looks a second.
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

/** A courtesy of the authorities: neither many at once, nor before anything else. */
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

/** Webhooks. */
function deliveries(parts: Parts): Pick<WorkerDeps, 'deliverWebhook' | 'relayDeliveries'> {
  const deps = deliverDeps(parts);
  return {
    deliverWebhook: (delivery) => deliverWebhook(deps, delivery),
    relayDeliveries: createRelay(relayDeps(parts)),
  };
}

function issueDeps(parts: Parts): IssueCertificateDeps {
  const { certificates, checks, config, metrics, now, observer, queues, vault } = parts;
  return {
    now,
    certificates: metrics ? countOrders(certificates, metrics.order) : certificates,
    ...(metrics && { told: tellChecks(metrics.check) }),
    save: checks.save,
    judgeClaim: createJudgeClaim({ proofFor: parts.proofFor, lookupTexts: observer.lookupTexts }),
    observe: (domain) => look(parts, domain),
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
      // A way back to pending began a new life (src/db/domains/transitions.ts); the jobs of the one before only wait to end.
      if (to.status === 'pending') await forgetJobs(queues, { domainId: id, epoch: epoch - 1 });
    },
    noteShown: composeNoteShown(parts),
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
 * Another edge is looked at with its order, and nothing of it is kept here to be compared with. Nor is anything noted where
 * our own addresses cannot be reached from here: it would say nothing of what visitors are shown.
 */
function composeNoteShown({ config, database, external, now, observer }: Parts): NoteShown {
  if (external !== null || !config.edge.isProbed) return async () => undefined;
  return createNoteShown({
    ...createShownStore(database.prisma, config),
    lookupAddresses: observer.lookupAddresses,
    port: config.edge.publicHttpsPort ?? HTTPS_PORT,
    allowPrivate: config.dns.allowPrivate,
    now,
  });
}

/** In a span of its own: it is what a check waits for. */
function look(
  { observer }: Parts,
  domain: { readonly hostname: string; readonly target: string },
  earlier?: Earlier,
): Promise<Observation> {
  return inSpan('look at the DNS', {}, () => observer.observe(lookAt(domain), earlier));
}

/** What was seen of a domain, where it need not be looked at in full now. */
function earlierOf({ now, config }: Parts, domain: LoadedDomain): Earlier | undefined {
  const scrutiny = scrutinyOf(domain, now(), config.verifyWindowMs);
  const { observation } = domain;
  return scrutiny === 'full' || observation === null ? undefined : { observation, scrutiny };
}

function lookAt({ hostname, target }: { readonly hostname: string; readonly target: string }) {
  return { hostname, target, apex: splitAtZone(hostname).apex };
}

function escalateDeps(parts: Parts, issue: IssueCertificateDeps): EscalateCertificateDeps {
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
    tellOperator: ({ id: domainId, hostname }, { cause, evidence }) => {
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

function checkRules({ verifyWindowMs, escalateAfterMs }: Config, now: Date): CheckRules {
  const jitter = Math.random();
  return { now, windowMs: verifyWindowMs, escalateAfterMs, jitter };
}

/** Starts the workers of every queue, the timers and the reconciler. */
export async function startWork(parts: Parts, closings: Closing[]): Promise<void> {
  const workers = startWorkers(composeWorkers(parts));
  closings.push((deadlineMs) => workers.close(deadlineMs));
}
