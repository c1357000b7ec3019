/** The one place where parts are built and handed to each other. */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Authorities, ConfiguredAuthority } from '../certificates/authorities/authority.ts';
import { composeAuthorities, composeExternal } from '../certificates/authorities/configured.ts';
import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import { type AuthorityHealth, createAuthorityHealth } from '../certificates/authorities/health.ts';
import {
  answeringProbes,
  createProbes,
  type Probed,
  type Probes,
} from '../certificates/served/probe.ts';
import {
  createProofs,
  createSigningKeys,
  createTargets,
  type DerivedSecrets,
  type ProofFor,
} from '../certificates/vault/derived-secrets.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import { publishedBudget } from '../core/certificates/budget.ts';
import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import { followUps, type Waiting } from '../core/life/follow-ups.ts';
import { createWithinLimits, type WithinLimits } from '../db/account-limits.ts';
import { createAccountOf } from '../db/accounts.ts';
import { createDeliveryStore, type DeliveryStore } from '../db/delivery/deliveries.ts';
import { createWebhookStore, type WebhookStore } from '../db/delivery/webhooks.ts';
import { type CheckStore, createCheckStore } from '../db/domains/checks.ts';
import { createDomainStore, type DomainStore } from '../db/domains/domains.ts';
import {
  createEdgeLookups,
  type EdgeLookups,
  edgeConnections,
} from '../db/domains/edge-lookups.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createWaitingStore, type WaitingStore } from '../db/domains/waiting.ts';
import type { Database } from '../db/engine/client.ts';
import type { AuthorityBudget, AuthorityBudgets } from '../db/issuance/authority-budget.ts';
import { type AuthorityKeyStore, createAuthorityKeyStore } from '../db/issuance/authority-keys.ts';
import { type CertificateStore, createCertificateStore } from '../db/issuance/certificates.ts';
import { createProjectStore, type ProjectStore } from '../db/projects.ts';
import { createObserver, type Observer } from '../dns/observe/observe.ts';
import { createReachability, type Reachability } from '../dns/servers/reachability.ts';
import { createWire, type Wire } from '../dns/wire/wire.ts';
import { composeOwnAddresses, type OwnAddresses } from '../net/own-addresses.ts';
import { ownPorts } from '../net/own-ports.ts';
import { type DeployReach, upstreamReach } from '../net/upstream-reach.ts';
import type { Metrics } from '../ops/metrics/metrics.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type BringNow, createBringNow } from '../queue/domain-jobs.ts';
import { createPriorities, type TakePriority } from '../queue/priorities.ts';
import { openQueues, type Queues, type SeenQueues } from '../queue/queues.ts';

/** The time of this process; tests have their own. */
export type Clock = () => Date;

/** What is open before anything is composed. `compose` closes none of it. */
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

/** Everything that roles are made of, each part built once. */
export type Parts = Opened & {
  /** The connections that an edge has for itself alone. */
  readonly edgePool: pg.Pool;
  readonly probes: Probes;
  /** What an edge asks the database; our own probes are answered before it. */
  readonly lookups: EdgeLookups & Probed;
  /** Each queue connects when it is first used. */
  readonly queues: SeenQueues;
  /** The account that a project belongs to, for what the process does by itself. */
  accountOf(projectId: string): Promise<string>;
  /** Given to every job that is for a project, so that accounts take turns. */
  readonly takePriority: TakePriority;
  readonly keys: AuthorityKeyStore;
  /** The local authority's root in PEM, once it has signed something. */
  rootCertificate(): Promise<string | null>;
  readonly observer: Observer;
  /** What this process knows of port 53. */
  readonly reachability: Reachability;
  /** The one that orders go to first, and the one that stands in for it. */
  readonly authorities: Authorities;
  readonly health: AuthorityHealth;
  /** Null where certificates are our own. */
  readonly external: ExternalAuthority | null;
  /** The authorities in use as CAA records name them, in their order. */
  caaAuthorities(): Promise<readonly CaaAuthority[]>;
  readonly projects: ProjectStore;
  /** Makes what counts for an account, within its limits. */
  readonly withinLimits: WithinLimits;
  readonly domains: DomainStore;
  readonly checks: CheckStore;
  readonly certificates: CertificateStore;
  readonly waiting: WaitingStore;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  /** The host name that a domain's record must point to. */
  targetFor(projectId: string, hostname: string): string;
  readonly ownAddresses: OwnAddresses;
  /** Where the platform listens. A port that the system chose is added once it is open. */
  readonly ownPorts: Set<number>;
  /** Where deploys may be. */
  readonly upstreamReach: DeployReach;
  /** The text that proves an apex to be a claim's. */
  readonly proofFor: ProofFor;
  /** The key that signs the requests to a project's deploys. */
  signingKey(projectId: string, generation: number): Uint8Array;
  /** Makes sure that a waiting domain's jobs exist; may be called again. Rejects while the queue is away. */
  wake(
    domain: Waiting & { readonly id: string; readonly projectId: string; readonly epoch: number },
  ): Promise<void>;
  readonly bringNow: BringNow;
  /** Closes the queues and the sockets of the DNS that were opened here. */
  close(): Promise<void>;
};

/** Builds every part once. Asks the network nothing. Throws where a file of the configuration cannot be read. */
export function compose(opened: Opened): Parts {
  const { config, database, backend, vault, secrets, log, now } = opened;
  const { prisma } = database;
  const wire = createWire();
  const accountOf = createAccountOf(prisma);
  const takePriority = createPriorities({ accountOf, now });
  const queues = openQueues(backend, takePriority);
  const { edgePool, probes, lookups } = composeLookups(opened);
  const dns = composeDns(opened, wire);
  const targetFor = createTargets(secrets.target, config.platform.domain);
  const own = {
    ownAddresses: composeOwnAddresses({ config, observer: dns.observer, targetFor, now }),
    ownPorts: ownPorts(config),
  };
  const keys = createAuthorityKeyStore(prisma);
  const isHeld = async (hostname: string) => (await lookups.findRoute(hostname)) !== null;
  const authorities = composeAuthorities({ config: config.acme, keys, vault, isHeld, now });
  return {
    ...opened,
    edgePool,
    probes,
    lookups,
    queues,
    accountOf,
    takePriority,
    keys,
    rootCertificate: async () => (await keys.loadRoot())?.certificate ?? null,
    ...dns,
    authorities,
    health: composeHealth(opened),
    external: composeExternal(config, dns.observer.lookupAddresses),
    caaAuthorities: () => caaAuthorities(authorities, config.acme.challenge),
    projects: createProjectStore(prisma),
    withinLimits: createWithinLimits(prisma, config.accounts.limits),
    domains: createDomainStore(prisma),
    checks: createCheckStore(database),
    certificates: createCertificateStore(prisma, config, budgetsOf(authorities, config.acme)),
    waiting: createWaitingStore(prisma),
    webhooks: createWebhookStore(prisma),
    deliveries: createDeliveryStore(prisma),
    targetFor,
    ...own,
    upstreamReach: upstreamReach({ config, ...own }),
    proofFor: createProofs(secrets.proof),
    signingKey: createSigningKeys(secrets.signing),
    wake: createWake(queues),
    bringNow: createBringNow({ queues, quarantine: createQuarantineStore(prisma), now }),
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

function composeDns({ config, metrics }: Opened, wire: Wire) {
  const reachability = createReachability();
  const observer = createObserver({
    wire,
    reachability,
    config: config.dns,
    platformAddresses: config.platform.addresses,
    ...(metrics && { count: metrics.question }),
  });
  return { observer, reachability };
}

function createWake(queues: Queues): Parts['wake'] {
  return async (domain) => {
    const job = { domainId: domain.id, epoch: domain.epoch };
    const owner = domain.projectId;
    for (const { queue, runAt } of followUps(domain)) {
      await queues.enqueue(queue, [{ job, runAt, owner }]);
    }
  };
}

/** Ends a part of the process within so many milliseconds. */
export type Closing = (deadlineMs: number) => Promise<void>;

/**
 * Closes in the opposite order, one after the other, all within one deadline. Rejects with the first fault once all of
 * them have been tried.
 */
export async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  const faults: unknown[] = [];
  for (const closing of closings.toReversed()) {
    await closing(Math.max(0, end - Date.now())).catch((fault) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
}
