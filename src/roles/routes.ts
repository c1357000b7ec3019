/** Every route of the service, with what each of them calls. */

import { newClaimNonce } from '../certificates/vault/derived-secrets.ts';
import { countStored, nextAddition } from '../db/account-limits.ts';
import { createAccountStore } from '../db/accounts.ts';
import { createApiKeyStore } from '../db/api-keys.ts';
import { createAuditStore } from '../db/audit.ts';
import { createDomainSettingsStore } from '../db/domains/domain-settings.ts';
import type { DomainDetails, EndedEpoch } from '../db/domains/domains.ts';
import { createIsHeld, findAttachedTarget } from '../db/domains/domains.ts';
import { createEventFeedStore, loadTimeline } from '../db/events.ts';
import { readInstallation } from '../db/installation.ts';
import { readEmptiest } from '../db/issuance/authority-budget.ts';
import { closeForOperator, listEscalations } from '../db/issuance/escalations.ts';
import {
  bringToSweep,
  findWatchedDomain,
  loadNotes,
  readOperations,
  searchDomains,
} from '../db/operations.ts';
import { createPetStore } from '../db/pets.ts';
import { createSessionStore } from '../db/sessions.ts';
import { createExamine } from '../dns/examine.ts';
import type { AccountRateLimiter } from '../http/limits/rate-limit.ts';
import type { Route } from '../http/pipeline/route.ts';
import { accountUsageRoutes } from '../http/routes/account-usage.ts';
import { accountRoutes } from '../http/routes/accounts.ts';
import { auditRoutes } from '../http/routes/audit.ts';
import {
  countDiagnoses,
  type Diagnoses,
  diagnosisRoutes,
  hostnameRoutes,
} from '../http/routes/diagnosis.ts';
import { domainSettingsRoutes } from '../http/routes/domain-settings.ts';
import { domainRoutes } from '../http/routes/domains.ts';
import { escalationRoutes } from '../http/routes/escalations.ts';
import { eventRoutes } from '../http/routes/events.ts';
import { healthRoutes, metricsRoutes } from '../http/routes/health.ts';
import { internalRoutes } from '../http/routes/internal.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { openApiRoutes } from '../http/routes/openapi.ts';
import { operationsRoutes } from '../http/routes/operations.ts';
import { petRoutes } from '../http/routes/pets.ts';
import { projectRoutes } from '../http/routes/projects.ts';
import { sessionRoutes } from '../http/routes/sessions.ts';
import { signingSecretRoutes } from '../http/routes/signing-secret.ts';
import type { OpenStream } from '../http/routes/streams.ts';
import type { VerifyDeps } from '../http/routes/verify-now.ts';
import { webhookRoutes } from '../http/routes/webhooks.ts';
import { createIsNeighbour, trustedProxies } from '../net/client-address.ts';
import { createReadBudget, createReadOverview } from '../ops/overview.ts';
import type { ReadReadiness } from '../ops/readiness.ts';
import { forgetJobs } from '../queue/domain-jobs.ts';
import { createIsMetricsToken } from './listeners.ts';
import type { Parts } from './parts.ts';
import { composeExamineReach } from './reach.ts';

/** What routes are made of. */
export type RoutesDeps = {
  readonly parts: Parts;
  readonly readiness: ReadReadiness;
  /** Cuts off what an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
  /** Has a key read from the database again at its next use. */
  readonly forgetKey: (keyId: string) => void;
  /** The same of a session of the dashboard. */
  readonly forgetSession: (sessionId: string) => void;
  readonly openStream: OpenStream;
  /** How many streams an account has open in this process. */
  readonly streamsOf: (accountId: string) => number;
  /** What an account has taken of its requests a minute; null: nothing in this one. */
  readonly requestsOf: AccountRateLimiter['used'];
};

/**
 * Returns every route there is; docs/api.md describes the same ones. The last ones serve the OpenAPI document of the
 * others.
 */
export function routesOf(deps: RoutesDeps): readonly Route[] {
  const { parts } = deps;
  const { config, database, now, projects, webhooks, deliveries, vault } = parts;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  const diagnoses = countDiagnoses();
  const routes = [
    ...petRoutes({ pets: createPetStore(database, { concurrency }), now }),
    ...accountsRoutes(deps, diagnoses),
    ...publishingRoutes(deps),
    ...hostnameRoutes({ platformDomain: config.platform.domain }),
    ...eventRoutes({
      projects,
      findDomainId: createEventFeedStore(database).findDomainId,
      platformDomain: config.platform.domain,
      openStream: deps.openStream,
    }),
    ...domainSettingsRoutes({
      projects,
      settings: createDomainSettingsStore(database.prisma),
      platformDomain: config.platform.domain,
    }),
    ...diagnosisRoutes({
      platformDomain: config.platform.domain,
      targetOf: (access, hostname) => findAttachedTarget(database.prisma, access, hostname),
      examine: createExamine({
        observer: parts.observer,
        allowPrivate: config.dns.allowPrivate,
        authorities: parts.caaAuthorities,
      }),
      examineReach: composeExamineReach(parts),
      diagnoses,
      now,
    }),
    ...auditRoutes(createAuditStore(database.prisma)),
    ...webhookRoutes({
      projects,
      webhooks,
      withinLimits: parts.withinLimits,
      deliveries,
      vault,
      allowPrivate: config.webhooks.allowPrivate,
      now,
    }),
    ...operatorsRoutes(parts),
    ...internalRoutes({
      platformDomain: config.platform.domain,
      isHeld: createIsHeld(database.prisma),
      isNeighbour: createIsNeighbour(trustedProxies(config.api.trustedProxies)),
    }),
    ...watchedRoutes(deps),
  ];
  return [...routes, ...openApiRoutes(routes, config.api)];
}

/** Accounts, and what belongs to them: keys, their sessions, and projects. */
function accountsRoutes(
  { parts, forgetKey: forget, forgetSession, streamsOf, requestsOf }: RoutesDeps,
  diagnoses: Diagnoses,
): readonly Route[] {
  const { config, database, now, projects, signingKey, withinLimits } = parts;
  const accounts = createAccountStore(database.prisma);
  const keys = createApiKeyStore(database.prisma);
  const platformDomain = config.platform.domain;
  const { limits } = config.accounts;
  return [
    ...accountRoutes({ accounts, limits, now }),
    ...accountUsageRoutes({
      accounts,
      limits,
      counts: (id, at) => countStored(database.prisma, id, at),
      nextAddition: (id, most, at) => nextAddition(database.prisma, id, most, at),
      streamsOf,
      diagnosesOf: diagnoses.of,
      requestsOf,
      now,
    }),
    ...keyRoutes({ keys, accounts, projects, withinLimits, forget, now }),
    ...sessionRoutes({
      sessions: createSessionStore(database.prisma),
      forget: forgetSession,
      now,
    }),
    ...projectRoutes({
      accounts,
      projects,
      withinLimits,
      accountPlans: config.accounts.plans,
      platformDomain,
      upstreamProblem: (url) => parts.upstreamReach.urlProblem(url),
      now,
    }),
    ...signingSecretRoutes({ projects, signingKey, now }),
  ];
}

function publishingRoutes({ parts, dropTraffic }: RoutesDeps): readonly Route[] {
  const { config, domains, projects, targetFor, withinLimits } = parts;
  const { now, windowMs, wake, orderNow, forget } = verifyDeps(parts);
  const platformDomain = config.platform.domain;
  return domainRoutes({
    projects,
    domains,
    withinLimits,
    platformDomain,
    windowMs,
    targetFor,
    newClaimNonce,
    wake,
    orderNow,
    dropTraffic,
    forget,
    now,
  });
}

/** What verifying a domain starts. The queue learns of it after the commit, and may be away. */
function verifyDeps({ config, domains, log, now, queues, wake, bringNow }: Parts): VerifyDeps {
  return {
    domains,
    now,
    windowMs: config.verifyWindowMs,
    wake: (domain: DomainDetails, requestId: string) =>
      quietly(log, { what: 'wake', domainId: domain.id, requestId }, () => wake(domain)),
    orderNow: ({ id, epoch }: EndedEpoch, requestId: string) =>
      quietly(log, { what: 'wake', domainId: id, requestId }, () =>
        bringNow('issue-certificate', { domainId: id, epoch }),
      ),
    forget: ({ id, epoch }: EndedEpoch, requestId: string) =>
      quietly(log, { what: 'forget', domainId: id, requestId }, () =>
        forgetJobs(queues, { domainId: id, epoch }),
      ),
  };
}

/** What operators see, and what they restart. */
function operatorsRoutes(parts: Parts): readonly Route[] {
  const { database, domains, log, now, queues } = parts;
  const { windowMs, wake, orderNow, forget } = verifyDeps(parts);
  const { prisma } = database;
  const overview = createReadOverview({
    readInstallation: () => readInstallation(prisma),
    readOperations: (at) => readOperations(prisma, at),
    queues,
    budget: createReadBudget((...asked) => readEmptiest(prisma, ...asked), now),
    now,
  });
  return [
    ...escalationRoutes({
      list: (access, query) => listEscalations(prisma, access, query),
      close: (access, id) => closeForOperator(prisma, access, id, now()).finally(overview.forget),
    }),
    ...operationsRoutes({
      domains,
      windowMs,
      wake,
      orderNow,
      forget,
      now,
      overview,
      queues,
      search: (access, part, limit) => searchDomains(prisma, access, part, limit),
      find: (access, id) => findWatchedDomain(prisma, access, id),
      notes: (id) => loadNotes(prisma, id),
      timeline: (id, limit) => loadTimeline(prisma, id, limit),
      runNow: (queue, job, requestId) =>
        quietly(log, { what: 'wake', domainId: job.domainId, requestId }, () =>
          parts.bringNow(queue, job),
        ),
      bringToSweep: (domain, sweep, at) => bringToSweep(prisma, domain, sweep, at),
    }),
  ];
}

/** What is asked by those who watch the process. */
function watchedRoutes({ parts, readiness }: RoutesDeps): readonly Route[] {
  const { config, metrics } = parts;
  return [
    ...healthRoutes({ readiness }),
    ...metricsRoutes({
      metrics: async () => metrics?.text() ?? '',
      isMetricsToken: createIsMetricsToken(config.metrics.token),
    }),
  ];
}

/** What was committed is safe without the queue: the reconciler adds the job within a minute. */
async function quietly(
  log: Parts['log'],
  about: { readonly what: string; readonly domainId: string; readonly requestId: string },
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, ...about }, 'the queue is away; the reconciler will make good');
  }
}
