import { createApiKeyStore } from '../db/api-keys.ts';
import type { DomainDetails } from '../db/domains/domain-details.ts';
import { createDomainSettingsStore } from '../db/domains/domain-settings.ts';
import type { EndedEpoch } from '../db/domains/domains.ts';
import { createIsHeld, findAttached } from '../db/domains/domains.ts';
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
import { createExamine } from '../dns/examine.ts';
import { createIsMetricsToken } from '../http/keys/metrics-token.ts';
import type { Route } from '../http/pipeline/route.ts';
import { deleteProject } from '../http/routes/delete-project.ts';
import { deployRoutes } from '../http/routes/deploys.ts';
import { diagnosisRoutes, hostnameRoutes } from '../http/routes/diagnosis.ts';
import { domainListRoutes } from '../http/routes/domain-lists.ts';
import { domainSettingsRoutes } from '../http/routes/domain-settings.ts';
import { domainRoutes } from '../http/routes/domains.ts';
import { escalationRoutes } from '../http/routes/escalations.ts';
import { eventRoutes } from '../http/routes/events.ts';
import { fleetRoutes } from '../http/routes/fleet.ts';
import { healthRoutes, metricsRoutes } from '../http/routes/health.ts';
import { internalRoutes } from '../http/routes/internal.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { localCaRoutes } from '../http/routes/local-ca.ts';
import { openApiRoutes } from '../http/routes/openapi.ts';
import { operationsRoutes } from '../http/routes/operations.ts';
import { petRoutes } from '../http/routes/pets.ts';
import { projectRoutes } from '../http/routes/projects.ts';
import { createSendTest } from '../http/routes/send-test.ts';
import { signingRoutes } from '../http/routes/signing-secret.ts';
import type { OpenStream } from '../http/routes/streams.ts';
import type { VerifyDeps } from '../http/routes/verify-now.ts';
import { webhookRoutes } from '../http/routes/webhooks.ts';
import { createIsNeighbour, trustedProxies } from '../net/client-address.ts';
import { createLookup } from '../net/destination.ts';
import { checkUpstream, type UpstreamCheck } from '../net/upstream-check.ts';
import type { ReadReadiness } from '../ops/readiness.ts';
import { composeFleet } from '../process/fleet.ts';
import { forgetJobs } from '../queue/queues.ts';
import { directoriesOf } from '../service/authorities.ts';
import { createReadBudget, createReadOverview } from '../service/overview.ts';
import { composeExamineReach } from '../service/reach.ts';
import type { Service } from '../service/service.ts';

export type RoutesDeps = {
  readonly service: Service;
  readonly readiness: ReadReadiness;
  /** Closes connections that an edge in this process serves under a name. */
  readonly dropTraffic: (hostname: string) => void;
  /** The next use of a key reads it from the database again. */
  readonly forgetKey: (keyId: string) => void;
  readonly openStream: OpenStream;
};

/** The last routes serve the OpenAPI document of the others. */
export function routesOf(deps: RoutesDeps): readonly Route[] {
  const { service } = deps;
  const { config, database, now, projects, webhooks, deliveries, vault } = service;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  const routes = [
    ...petRoutes({ pets: createPetStore(database, { concurrency }), now }),
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
      findAttached: (hostname) => findAttached(database.prisma, hostname),
      examineReach: composeExamineReach(service),
      examine: createExamine({
        observer: service.observer,
        allowPrivate: config.dns.allowPrivate,
        authorities: service.caaAuthorities,
      }),
    }),
    ...webhookRoutes({
      projects,
      webhooks,
      deliveries,
      vault,
      sendTest: createSendTest(service),
      allowPrivate: config.webhooks.allowPrivate,
      now,
    }),
    ...localCaRoutes({ rootCertificate: service.rootCertificate }),
    ...keyRoutes({ keys: createApiKeyStore(database.prisma), forget: deps.forgetKey, now }),
    ...operatorsRoutes(service),
    ...internalRoutes({
      platformDomain: config.platform.domain,
      isHeld: createIsHeld(database.prisma),
      isNeighbour: createIsNeighbour(trustedProxies(config.api.trustedProxies)),
    }),
    ...watchedRoutes(deps),
  ];
  return [...routes, ...openApiRoutes(routes, config.api)];
}

function publishingRoutes({ service, dropTraffic }: RoutesDeps): readonly Route[] {
  const { config, deploys, domains, projects, signingKey, targetFor, webhooks } = service;
  const { now, windowMs, wake, orderNow, forget } = verifyDeps(service);
  const platformDomain = config.platform.domain;
  const { domainsPerHour } = config.api;
  const common = { projects, domains, platformDomain, windowMs, now };
  return [
    ...projectRoutes({ ...common, deploys }),
    deleteProject({ ...common, webhooks, dropTraffic, forget }),
    ...deployRoutes({ projects, deploys, checkUpstream: composeCheckUpstream(service), now }),
    ...signingRoutes({ projects, signingKey, now }),
    ...domainListRoutes(common),
    ...domainRoutes({ ...common, domainsPerHour, targetFor, wake, orderNow, dropTraffic, forget }),
  ];
}

/** An edge of another make can reach addresses that ours does not. */
function composeCheckUpstream({
  config: { certificates, dns, upstreams },
  ownAddresses,
}: Pick<Service, 'config' | 'ownAddresses'>) {
  const isNamed = trustedProxies(upstreams.networks);
  const lookup = createLookup(dns.servers);
  return async (upstream: string): Promise<UpstreamCheck> =>
    certificates.source === 'external'
      ? { kind: 'accepted', warnings: [] }
      : checkUpstream({ lookup, isNamed, ownAddresses }, upstream);
}

/** The queue is notified after the commit and can be unavailable. */
function verifyDeps({ config, domains, log, now, queues, wake, bringNow }: Service): VerifyDeps {
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

function operatorsRoutes(service: Service): readonly Route[] {
  const { database, domains, log, now, queues } = service;
  const { windowMs, wake, orderNow, forget } = verifyDeps(service);
  const { prisma } = database;
  const fleet = composeFleet(service);
  const overview = createReadOverview({
    readInstallation: () => readInstallation(prisma, directoriesOf(service.authorities)),
    readQueueMemory: () => service.backend.readMemory(),
    readOperations: (at) => readOperations(prisma, at),
    readFleet: fleet.read,
    queues,
    budget: createReadBudget((...asked) => readEmptiest(prisma, ...asked), now),
    now,
  });
  return [
    ...escalationRoutes({
      list: (query) => listEscalations(prisma, query),
      close: (id) => closeForOperator(prisma, id, now()).finally(overview.forget),
    }),
    ...fleetRoutes({
      read: fleet.read,
      accept: (id) => fleet.accept(id).finally(overview.forget),
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
      search: (part, limit) => searchDomains(prisma, part, limit),
      find: (id) => findWatchedDomain(prisma, id),
      notes: (id) => loadNotes(prisma, id),
      timeline: async (id, limit) => {
        const page = { domainIds: [id], after: null, limit };
        return (await loadTimeline(prisma, page)).rows;
      },
      runNow: (queue, job, requestId) =>
        quietly(log, { what: 'wake', domainId: job.domainId, requestId }, () =>
          service.bringNow(queue, job),
        ),
      bringToSweep: (domain, sweep, at) => bringToSweep(prisma, domain, sweep, at),
    }),
  ];
}

function watchedRoutes({ service, readiness }: RoutesDeps): readonly Route[] {
  const { config, metrics } = service;
  return [
    ...healthRoutes({ readiness }),
    ...metricsRoutes({
      metrics: async () => metrics?.text() ?? '',
      isMetricsToken: createIsMetricsToken(config.metrics.token),
    }),
  ];
}

/** Committed work is safe without the queue: the reconciler adds the job within a minute. */
async function quietly(
  log: Service['log'],
  about: { readonly what: string; readonly domainId: string; readonly requestId: string },
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (err) {
    log.warn({ err, ...about }, 'the queue is unavailable; the reconciler will add the job');
  }
}
