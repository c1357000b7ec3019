/** The one place where parts are built and handed to each other. */
import type { Logger } from 'pino';
import type { Authorities, ConfiguredAuthority } from './certificates/authority.ts';
import { createAuthorityHealth } from './certificates/authority-health.ts';
import { composeAuthorities, composeExternal } from './certificates/compose.ts';
import { answeringProbes, createProbes } from './certificates/probe.ts';
import type { Vault } from './certificates/vault.ts';
import type { Config } from './config.ts';
import { publishedBudget } from './core/authority-budget.ts';
import type { CaaAuthority } from './core/caa/caa-set.ts';
import { followUps } from './core/follow-ups.ts';
import type { AuthorityBudget, AuthorityBudgets } from './db/authority-budget.ts';
import { createAuthorityKeyStore } from './db/authority-keys.ts';
import { createCertificateStore } from './db/certificates.ts';
import { createCheckStore } from './db/checks.ts';
import type { Database } from './db/client.ts';
import { createDeliveryStore } from './db/deliveries.ts';
import { createDomainStore } from './db/domains.ts';
import { createEdgeLookups, edgeConnections } from './db/edge-lookups.ts';
import { createProjectStore } from './db/projects.ts';
import { createQuarantineStore } from './db/quarantine.ts';
import { createWaitingStore } from './db/waiting.ts';
import { createWebhookStore } from './db/webhooks.ts';
import { createProofs, createTargets, type DerivedSecrets } from './derived-secrets.ts';
import { createObserver } from './dns/observe.ts';
import { createWire, type Wire } from './dns/wire/wire.ts';
import { composeOwnAddresses } from './net/own-addresses.ts';
import type { Metrics } from './ops/metrics/metrics.ts';
import type { QueueBackend } from './queue/backend.ts';
import { createBringNow } from './queue/bring-now.ts';
import { openQueues } from './queue/queues.ts';

export type Clock = () => Date;

/** What is open before anything is composed. */
export type Opened = {
  readonly config: Config;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly vault: Vault;
  readonly secrets: DerivedSecrets;
  readonly log: Logger;
  readonly now: Clock;
  /** Missing where nobody counts. */
  readonly metrics?: Metrics;
};

export type Parts = ReturnType<typeof compose>;

/** Builds every part once. Nothing here asks the network; `close` lets go of what it opened. */
export function compose(opened: Opened) {
  const { config, database, backend, secrets, log, now } = opened;
  const { prisma } = database;
  const wire = createWire();
  const queues = openQueues(backend);
  const edge = composeLookups(opened);
  const observer = composeObserver(opened, wire);
  const targetFor = createTargets(secrets.target, config.platform.domain);
  const keys = createAuthorityKeyStore(prisma);
  const authorities = composeAuthorities({
    ...opened,
    config: config.acme,
    keys,
    isHeld: async (hostname) => (await edge.lookups.findRoute(hostname)) !== null,
  });
  const parts = {
    ...opened,
    ...edge,
    queues,
    keys,
    /** The local authority's root in PEM, once it has signed something. */
    rootCertificate: async () => (await keys.loadRoot())?.certificate ?? null,
    observer,
    authorities,
    health: composeHealth(opened),
    external: composeExternal(config, observer.lookupAddresses),
    /** As CAA records name the authorities in use, in their order. */
    caaAuthorities: () => caaAuthorities(authorities, config.acme.challenge),
    projects: createProjectStore(prisma),
    domains: createDomainStore(prisma),
    checks: createCheckStore(database),
    certificates: createCertificateStore(prisma, config, budgetsOf(authorities, config.acme)),
    waiting: createWaitingStore(prisma),
    webhooks: createWebhookStore(prisma),
    deliveries: createDeliveryStore(prisma),
    targetFor,
    ownAddresses: composeOwnAddresses({ config, observer, targetFor, now }),
    proofFor: createProofs(secrets.proof),
  };
  return {
    ...parts,
    wake: createWake(parts),
    bringNow: createBringNow({ ...parts, quarantine: createQuarantineStore(prisma) }),
    async close() {
      await queues.close();
      wire.close();
      log.debug('parts closed');
    },
  };
}

/** What an edge asks, and the connections that it has for that alone. */
function composeLookups({ database, secrets }: Opened) {
  const edgePool = database.openPool(edgeConnections);
  const probes = createProbes(secrets.probe);
  const stored = createEdgeLookups({ prisma: database.prisma, pool: edgePool });
  return { edgePool, probes, lookups: answeringProbes(stored, probes) };
}

/** The setting is about the first; the one that stands in for it has the limits that its host is known for. */
function budgetsOf([first, ...others]: Authorities, acme: Config['acme']): AuthorityBudgets {
  const known = ({ directoryUrl }: ConfiguredAuthority): AuthorityBudget => {
    const host = directoryUrl === null ? '' : new URL(directoryUrl).hostname;
    return { directoryUrl, budget: publishedBudget(host) };
  };
  const wanted = acme.budget && { budget: acme.budget };
  return [{ ...known(first), ...wanted }, ...others.map(known)];
}

function composeHealth({ config, log, now }: Opened) {
  return createAuthorityHealth({
    now,
    windowMs: config.verifyWindowMs,
    onChange: (directoryUrl, state) =>
      state === 'down'
        ? log.warn({ directoryUrl }, 'the certificate authority gives no answer')
        : log.info({ directoryUrl }, 'the certificate authority answers again'),
  });
}

function caaAuthorities(
  authorities: readonly ConfiguredAuthority[],
  method: CaaAuthority['method'],
): Promise<CaaAuthority[]> {
  const named = async ({ issuerDomains, authority }: ConfiguredAuthority) => ({
    issuerDomains,
    accountUri: await authority.accountUri(),
    method,
  });
  return Promise.all(authorities.map(named));
}

function composeObserver({ config, metrics }: Opened, wire: Wire) {
  return createObserver({
    wire,
    config: config.dns,
    platformAddresses: config.platform.addresses,
    ...(metrics && { count: metrics.question }),
  });
}

/** Makes sure that a waiting domain's jobs exist. */
function createWake({ queues }: { queues: ReturnType<typeof openQueues> }) {
  return async (domain: Parameters<typeof followUps>[0] & { id: string; epoch: number }) => {
    const job = { domainId: domain.id, epoch: domain.epoch };
    for (const { queue, runAt } of followUps(domain)) await queues.enqueue(queue, [{ job, runAt }]);
  };
}
