/** Builds the shared service and connects them. */

import type pg from 'pg';
import type { Logger } from 'pino';
import type {
  CertificateAuthorities,
  ConfiguredAuthority,
} from '../certificates/authorities/authority.ts';
import { composeAuthorities, composeExternal } from '../certificates/authorities/configured.ts';
import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import { type AuthorityHealth, createAuthorityHealth } from '../certificates/authorities/health.ts';
import { reachAddresses } from '../certificates/reach/challenge-path.ts';
import { reachRules } from '../certificates/reach/examine-reach.ts';
import { observingProxies } from '../certificates/reach/observe-proxied.ts';
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
} from '../certificates/vault/derived-secrets.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import { publishedBudget } from '../core/certificates/budget.ts';
import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import { type FollowUpState, followUps } from '../core/life/follow-ups.ts';
import { createDeliveryStore, type DeliveryStore } from '../db/delivery/deliveries.ts';
import { createWebhookStore, type WebhookStore } from '../db/delivery/webhooks.ts';
import { createDeployStore, type DeployStore } from '../db/deploys.ts';
import { type CheckStore, createCheckStore } from '../db/domains/checks.ts';
import { createDomainStore, type DomainStore } from '../db/domains/domains.ts';
import {
  createEdgeLookups,
  type EdgeLookups,
  edgeConnections,
} from '../db/domains/edge-lookups.ts';
import { createQuarantineStore, type QuarantineStore } from '../db/domains/quarantine.ts';
import { createWaitingStore, type WaitingStore } from '../db/domains/waiting.ts';
import type { Database } from '../db/engine/client.ts';
import type { ExpectedAuthorities } from '../db/installation.ts';
import type { AuthorityBudget, AuthorityBudgets } from '../db/issuance/authority-budget.ts';
import { type AuthorityKeyStore, createAuthorityKeyStore } from '../db/issuance/authority-keys.ts';
import { type CertificateStore, createCertificateStore } from '../db/issuance/certificates.ts';
import { createProjectStore, type ProjectStore } from '../db/projects.ts';
import { createObserver, type Observer } from '../dns/observe/observe.ts';
import { createWire, type Wire } from '../dns/wire/wire.ts';
import { beforeDeadline } from '../net/deadline.ts';
import { composeOwnAddresses, type OwnAddresses } from '../net/own-addresses.ts';
import type { Metrics } from '../ops/metrics/metrics.ts';
import type { QueueBackend } from '../queue/backend.ts';
import {
  type BringNow,
  createBringNow,
  openQueues,
  type Queues,
  type SeenQueues,
} from '../queue/queues.ts';

/** Tests replace it. */
export type Clock = () => Date;

/** Opened before the service is built, which closes none of it. */
export type Opened = {
  readonly config: Config;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly vault: Vault;
  readonly secrets: DerivedSecrets;
  readonly log: Logger;
  readonly now: Clock;
  /** Missing if metrics are off. */
  readonly metrics?: Metrics;
};

/** Jobs, route handlers and pages take it as their first argument. */
export type Service = Opened & {
  readonly edgePool: pg.Pool;
  readonly probes: Probes;
  /** Our own probes are answered first. */
  readonly lookups: EdgeLookups & Probed;
  /** Each queue connects on first use. */
  readonly queues: SeenQueues;
  readonly keys: AuthorityKeyStore;
  /** PEM, once the local CA has signed something. */
  rootCertificate(): Promise<string | null>;
  readonly observer: Observer;
  /** The first CA for orders, and its fallback. */
  readonly authorities: CertificateAuthorities;
  readonly health: AuthorityHealth;
  /** Null if Signpost issues certificates itself. */
  readonly external: ExternalAuthority | null;
  /** The CAs in use as CAA records name them, in order. */
  caaAuthorities(): Promise<readonly CaaAuthority[]>;
  readonly projects: ProjectStore;
  readonly deploys: DeployStore;
  readonly domains: DomainStore;
  readonly checks: CheckStore;
  readonly certificates: CertificateStore;
  readonly waiting: WaitingStore;
  readonly webhooks: WebhookStore;
  readonly deliveries: DeliveryStore;
  readonly quarantine: QuarantineStore;
  /** The host name that a domain's record must point to. */
  targetFor(projectId: string, hostname: string): string;
  readonly ownAddresses: OwnAddresses;
  /** The TXT value that proves a project's ownership of an apex. */
  proofFor(projectId: string, hostname: string): string;
  /** Signs requests to a project's deploys. */
  signingKey(projectId: string, generation: number): Uint8Array;
  /** Idempotent. Rejects while the queue is unavailable. */
  wake(domain: FollowUpState & { readonly id: string; readonly epoch: number }): Promise<void>;
  readonly bringNow: BringNow;
  close(): Promise<void>;
};

/** Makes no requests. Throws if a configured file cannot be read. */
export function buildService(opened: Opened): Service {
  const { config, database, backend, vault, secrets, log, now } = opened;
  const { prisma } = database;
  const wire = createWire();
  const queues = openQueues(backend);
  const quarantine = createQuarantineStore(prisma);
  const { edgePool, probes, lookups } = composeLookups(opened);
  const observer = composeObserver(opened, wire, probes);
  const targetFor = createTargets(secrets.target, config.platform.domain);
  const keys = createAuthorityKeyStore(prisma);
  const isHeld = async (hostname: string) => (await lookups.findRoute(hostname)) !== null;
  const authorities = composeAuthorities({ config: config.acme, keys, vault, isHeld, now });
  return {
    ...opened,
    edgePool,
    probes,
    lookups,
    queues,
    keys,
    rootCertificate: async () => (await keys.loadRoot())?.certificate ?? null,
    observer,
    authorities,
    health: composeHealth(opened),
    external: composeExternal(config, observer.lookupAddresses),
    caaAuthorities: () => caaAuthorities(authorities, config.acme.challenge),
    projects: createProjectStore(prisma),
    deploys: createDeployStore(prisma),
    domains: createDomainStore(prisma),
    checks: createCheckStore(database),
    certificates: createCertificateStore(prisma, config, budgetsOf(authorities, config.acme)),
    waiting: createWaitingStore(prisma),
    webhooks: createWebhookStore(prisma),
    deliveries: createDeliveryStore(prisma),
    quarantine,
    targetFor,
    ownAddresses: composeOwnAddresses({ config, observer, targetFor, now }),
    proofFor: createProofs(secrets.proof),
    signingKey: createSigningKeys(secrets.signing),
    wake: createWake(queues),
    bringNow: createBringNow({ queues, quarantine, now }),
    async close() {
      await queues.close();
      wire.close();
      log.debug('connections closed');
    },
  };
}

function composeLookups({ database, secrets }: Opened) {
  const edgePool = database.openPool(edgeConnections);
  const probes = createProbes(secrets.probe);
  const stored = createEdgeLookups({ prisma: database.prisma, pool: edgePool });
  return { edgePool, probes, lookups: answeringProbes(stored, probes) };
}

/** The setting applies to the first CA; the fallback has the known limits of its host. */
function budgetsOf(
  [first, ...others]: CertificateAuthorities,
  acme: Config['acme'],
): AuthorityBudgets {
  const known = ({ directoryUrl }: ConfiguredAuthority): AuthorityBudget => {
    const host = directoryUrl === null ? '' : new URL(directoryUrl).hostname;
    return { directoryUrl, budget: publishedBudget(host) };
  };
  const wanted = acme.budget && { budget: acme.budget };
  return [{ ...known(first), ...wanted }, ...others.map(known)];
}

export function directoriesOf(authorities: CertificateAuthorities): ExpectedAuthorities {
  return authorities.map(({ directoryUrl }) => directoryUrl);
}

function composeHealth({ config, log, now }: Opened) {
  return createAuthorityHealth({
    now,
    timeScale: config.timeScale,
    onChange: (directoryUrl, state) =>
      state === 'down'
        ? log.warn({ directoryUrl }, 'certificate authority unavailable')
        : log.info({ directoryUrl }, 'certificate authority available again'),
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

/** For all addresses of a proxy together. */
const PROXY_MS = 5_000;
/** A hostile proxy must not cause many DNS queries; the name itself is known. */
const REDIRECTED_NAMES_MAX = 2;

/** An external edge answers challenges itself, and no proxy passes tls-alpn-01 on. */
function composeObserver({ config, metrics }: Opened, wire: Wire, probes: Probes): Observer {
  const observer = createObserver({
    wire,
    config: config.dns,
    platformAddresses: config.platform.addresses,
    ...(metrics && { count: metrics.question }),
  });
  if (config.certificates.source === 'external' || config.acme.challenge !== 'http-01') {
    return observer;
  }
  const rules = reachRules(config, observer.lookupAddresses, probes);
  return observingProxies(observer, (hostname, addresses) => {
    const known = new Map([[hostname, Promise.resolve(addresses)]]);
    const lookupAddresses = (name: string): Promise<readonly string[]> => {
      const found = known.get(name);
      if (found !== undefined) return found;
      if (known.size > REDIRECTED_NAMES_MAX) return Promise.resolve([]);
      const query = observer.lookupAddresses(name);
      known.set(name, query);
      return query;
    };
    const signal = AbortSignal.timeout(PROXY_MS);
    return reachAddresses({ ...rules, lookupAddresses, signal }, hostname, addresses, ['http']);
  });
}

function createWake(queues: Queues): Service['wake'] {
  return async (domain) => {
    const job = { domainId: domain.id, epoch: domain.epoch };
    for (const { queue, runAt } of followUps(domain)) await queues.enqueue(queue, [{ job, runAt }]);
  };
}

export type Closing = (deadlineMs: number) => Promise<void>;

/** Beyond the deadline, for each: one that hangs does not keep the process. */
const CLOSE_GRACE_MS = 5_000;

/** In reverse order, within one deadline. Tries all, then rejects with the first error. */
export async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  const faults: unknown[] = [];
  for (const closing of closings.toReversed()) {
    const leftMs = Math.max(0, end - Date.now());
    const closed = closing(leftMs).catch((fault) => faults.push(fault));
    await beforeDeadline(leftMs + CLOSE_GRACE_MS, closed, null);
  }
  if (faults.length > 0) throw faults[0];
}
