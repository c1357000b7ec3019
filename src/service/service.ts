/** What the roles of a process share, built once and connected. */
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { CertificateAuthorities } from '../certificates/authorities/authority.ts';
import { composeAuthorities, composeExternal } from '../certificates/authorities/configured.ts';
import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import { type AuthorityHealth, createAsk } from '../certificates/authorities/health.ts';
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
} from '../certificates/vault/derived-secrets.ts';
import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import { type AccountOf, createAccountOf, createAccountStore } from '../db/accounts.ts';
import { createApiKeyStore } from '../db/api-keys.ts';
import { createAuditStore } from '../db/audit.ts';
import { createDeliveryStore } from '../db/delivery/deliveries.ts';
import { createWebhookStore } from '../db/delivery/webhooks.ts';
import { createDeployStore } from '../db/deploys.ts';
import { createCheckStore } from '../db/domains/checks.ts';
import { createDomainSettingsStore } from '../db/domains/domain-settings.ts';
import { createDomainStore } from '../db/domains/domains.ts';
import {
  createEdgeLookups,
  type EdgeLookups,
  edgeConnections,
} from '../db/domains/edge-lookups.ts';
import { createQuarantineStore, type QuarantineStore } from '../db/domains/quarantine.ts';
import { createDueBySweep, type DueBySweep } from '../db/domains/sweeps.ts';
import { createWaitingStore } from '../db/domains/waiting.ts';
import { createEventFeedStore } from '../db/events.ts';
import { type AuthorityKeyStore, createAuthorityKeyStore } from '../db/issuance/authority-keys.ts';
import { type CertificateStore, createCertificateStore } from '../db/issuance/certificates.ts';
import { createPetStore } from '../db/pets.ts';
import { createProjectStore } from '../db/projects.ts';
import { createSessionStore } from '../db/sessions.ts';
import { createObserver, type Observer } from '../dns/observe/observe.ts';
import { createWire, type Wire } from '../dns/wire/wire.ts';
import { trustedProxies } from '../net/client-address.ts';
import { createClassify, createLookup } from '../net/destination.ts';
import { createKeyedCount, type KeyedCount } from '../net/keyed-count.ts';
import {
  composeOwnAddresses,
  composeOwnListeners,
  type OwnAddresses,
  type OwnListeners,
  type OwnPorts,
} from '../net/own-addresses.ts';
import { checkUpstream, type UpstreamCheck } from '../net/upstream-check.ts';
import type { OrderCounters } from '../ops/metrics/work.ts';
import { type BringNow, createBringNow, openQueues, type SeenQueues } from '../queue/queues.ts';
import { createSender, type Send } from '../webhooks/send.ts';
import { budgetsOf, buildHealth, caaAuthoritiesOf } from './authorities.ts';
import { fleetListeners } from './fleet.ts';
import {
  buildHandshakes,
  type ExamineReachOf,
  type Handshakes,
  reachExaminer,
} from './handshakes.ts';
import type { Opened } from './opened.ts';

/** Jobs, route handlers and pages take it as their first argument. */
export type Service = Opened &
  Stores & {
    readonly edgePool: pg.Pool;
    readonly probes: Probes;
    /** Our own probes are answered first. */
    readonly lookups: EdgeLookups & Probed;
    /** The account of a project. */
    readonly accountOf: AccountOf;
    /** Each queue connects on first use. */
    readonly queues: SeenQueues;
    readonly authorityKeys: AuthorityKeyStore;
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
    readonly certificates: CertificateStore;
    readonly quarantine: QuarantineStore;
    /** The host name that a domain's record must point to. */
    targetFor(projectId: string, hostname: string): string;
    readonly ownAddresses: OwnAddresses;
    readonly ownListeners: OwnListeners;
    /** Roles add what they bind. */
    readonly ownPorts: OwnPorts;
    /** Of the address in a URL, when a deploy is reported. Never rejects. */
    readonly checkUpstream: CheckUpstream;
    /** The TXT value that proves a claim. */
    proofFor(domainId: string, hostname: string): string;
    /** Signs requests to a project's deploys. */
    signingKey(projectId: string, generation: number): Uint8Array;
    readonly bringNow: BringNow;
    /** Checks whether a CA answers, if that is unknown; `health` has the result. */
    askAuthority(directoryUrl: string | null): Promise<void>;
    /** Of each sweep: the domains that are due. */
    readonly due: DueBySweep;
    readonly handshakes: Handshakes;
    /** What a certificate needs beside the DNS. */
    readonly examineReach: ExamineReachOf;
    /** Slots of this process for deliveries, by account's receiver, project and account. */
    readonly deliverySlots: KeyedCount;
    /** Posts a webhook. Failures of network and receiver are results. */
    readonly send: Send;
    /** From 0 to 1. */
    random(): number;
    pause(ms: number): Promise<void>;
    close(): Promise<void>;
  };

/** What tests replace beside the clock. */
type Replaceable = Pick<
  Service,
  | 'authorities'
  | 'checkUpstream'
  | 'examineReach'
  | 'handshakes'
  | 'observer'
  | 'pause'
  | 'queues'
  | 'random'
  | 'send'
>;

/** Makes no requests. Throws if a configured file cannot be read. */
export function buildService(opened: Opened, replaced: Partial<Replaceable> = {}): Service {
  const { config, database, backend, secrets, log, now } = opened;
  const wire = createWire();
  const accountOf = createAccountOf(database.prisma);
  const queues = replaced.queues ?? openQueues(backend, accountOf);
  const quarantine = createQuarantineStore(database.prisma);
  const { edgePool, probes, lookups } = composeLookups(opened);
  const own = composeOwnListeners(config, fleetListeners(opened), now);
  const observer = replaced.observer ?? buildObserver(opened, wire, { probes, ...own });
  const targetFor = createTargets(secrets.target, config.platform.domain);
  const authorityKeys = createAuthorityKeyStore(database.prisma);
  const authorities = replaced.authorities ?? authoritiesOf(opened, authorityKeys, lookups);
  const health = buildHealth(opened);
  const external = composeExternal(config, observer.lookupAddresses);
  const certificates = certificatesOf(opened, authorities);
  const ownAddresses = composeOwnAddresses({ config, observer, targetFor, now });
  const around = { config, database, observer, probes, now, ...own };
  return {
    ...opened,
    random: () => Math.random(),
    pause: (ms) => wait(ms),
    handshakes: buildHandshakes(around),
    examineReach: reachExaminer({ ...around, certificates, external }),
    edgePool,
    probes,
    lookups,
    accountOf,
    queues,
    authorityKeys,
    rootCertificate: async () => (await authorityKeys.loadRoot())?.certificate ?? null,
    observer,
    authorities,
    health,
    askAuthority: createAsk(authorities, health),
    external,
    caaAuthorities: () => caaAuthoritiesOf(authorities, config.acme.challenge),
    ...createStores(opened),
    certificates,
    quarantine,
    targetFor,
    ...composeOutgoing({ config, ownAddresses, ...own }),
    proofFor: createProofs(secrets.proof),
    signingKey: createSigningKeys(secrets.signing),
    bringNow: createBringNow({ queues, quarantine, now }),
    due: createDueBySweep(database.prisma),
    deliverySlots: createKeyedCount({ total: Infinity, perKey: Infinity }),
    ...replaced,
    async close() {
      await queues.close();
      wire.close();
      log.debug('connections closed');
    },
  };
}

function authoritiesOf(
  { config, now, vault }: Opened,
  keys: AuthorityKeyStore,
  lookups: EdgeLookups,
): CertificateAuthorities {
  const isHeld = async (hostname: string) => (await lookups.findRoute(hostname)) !== null;
  return composeAuthorities({ config: config.acme, keys, vault, isHeld, now });
}

/** Orders are counted in every process; only workers have any. */
function certificatesOf(
  { config, database, metrics }: Opened,
  authorities: CertificateAuthorities,
): CertificateStore {
  const budgets = budgetsOf(authorities, config.acme);
  const store = createCertificateStore(database.prisma, config, budgets);
  return metrics === undefined ? store : countOrders(store, metrics.order);
}

function composeLookups({ database, secrets }: Opened) {
  const edgePool = database.openPool(edgeConnections);
  const probes = createProbes(secrets.probe);
  const stored = createEdgeLookups({ prisma: database.prisma, pool: edgePool });
  return { edgePool, probes, lookups: answeringProbes(stored, probes) };
}

/** `issued` and `refused` once each, even if several runs share the order. */
export function countOrders(store: CertificateStore, count: OrderCounters): CertificateStore {
  return {
    ...store,
    async store(domain, certificateId, issued, at) {
      const isStored = await store.store(domain, certificateId, issued, at);
      const { state } = domain;
      const waitedMs =
        state.status === 'verified' ? at.getTime() - state.verifiedAt.getTime() : null;
      if (isStored) count.issued(waitedMs === null ? null : Math.max(0, waitedMs) / 1_000);
      return isStored;
    },
    async refuse(...refusal) {
      const refused = await store.refuse(...refusal);
      if (refused.hasEnded) count.refused();
      return refused;
    },
    async setBack(...setback) {
      await store.setBack(...setback);
      count.setBack();
    },
  };
}

// The DNS observer, which also asks proxies in front of a name.

/** For all addresses of a proxy together. */
const PROXY_MS = 5_000;
/** A hostile proxy must not cause many DNS queries; the name itself is known. */
const REDIRECTED_NAMES_MAX = 2;

/** An external edge answers challenges itself, and no proxy passes tls-alpn-01 on. */
function buildObserver(
  { config, metrics }: Opened,
  wire: Wire,
  { probes, ownListeners }: { readonly probes: Probes; readonly ownListeners: OwnListeners },
): Observer {
  const observer = createObserver({
    wire,
    config: config.dns,
    platformAddresses: config.platform.addresses,
    ...(metrics && { count: metrics.question }),
  });
  if (config.certificates.source === 'external' || config.acme.challenge !== 'http-01') {
    return observer;
  }
  const { lookupAddresses } = observer;
  const rules = reachRules({ config, lookupAddresses, probes, ownListeners });
  return observingProxies(observer, (hostname, addresses) => {
    const known = new Map([[hostname, Promise.resolve(addresses)]]);
    const lookupOnce = (name: string): Promise<readonly string[]> => {
      const found = known.get(name);
      if (found !== undefined) return found;
      if (known.size > REDIRECTED_NAMES_MAX) return Promise.resolve([]);
      const query = lookupAddresses(name);
      known.set(name, query);
      return query;
    };
    const signal = AbortSignal.timeout(PROXY_MS);
    const asking = { ...rules, lookupAddresses: lookupOnce, signal };
    return reachAddresses(asking, hostname, addresses, ['http']);
  });
}

type Around = Pick<Service, 'config' | 'ownAddresses' | 'ownListeners'>;

function composeOutgoing({ config, ...own }: Around & Pick<Service, 'ownPorts'>) {
  const around = { config, ...own };
  return { ...own, send: webhookSender(around), checkUpstream: upstreamChecker(around) };
}

type CheckUpstream = (upstream: string) => Promise<UpstreamCheck>;

/** Behind an external edge, which can reach addresses that ours does not, refuses own ports only. */
function upstreamChecker({ config, ownAddresses, ownListeners }: Around): CheckUpstream {
  const { certificates, dns, upstreams } = config;
  const lookup = createLookup(dns.servers);
  if (certificates.source === 'own') {
    const isNamed = trustedProxies(upstreams.networks);
    return (upstream) => checkUpstream({ lookup, isNamed, ownAddresses, ownListeners }, upstream);
  }
  const anywhere = { isNamed: () => true, ownAddresses: async () => [] };
  return async (upstream) => {
    const checked = await checkUpstream({ lookup, ownListeners, ...anywhere }, upstream);
    return checked.kind === 'refused' ? checked : { kind: 'accepted', warnings: [] };
  };
}

// The stores that need only the database.

function createStores({ config, database }: Pick<Opened, 'config' | 'database'>) {
  const { prisma } = database;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  return {
    accounts: createAccountStore(prisma),
    apiKeys: createApiKeyStore(prisma),
    audit: createAuditStore(prisma),
    checks: createCheckStore(database),
    deliveries: createDeliveryStore(prisma),
    deploys: createDeployStore(prisma),
    domains: createDomainStore(prisma),
    events: createEventFeedStore(database),
    pets: createPetStore(database, { concurrency }),
    projects: createProjectStore(prisma),
    sessions: createSessionStore(prisma),
    domainSettings: createDomainSettingsStore(prisma),
    waiting: createWaitingStore(prisma),
    webhooks: createWebhookStore(prisma),
  };
}

export type Stores = Readonly<ReturnType<typeof createStores>>;

/** Never connects to this installation or to private addresses, except in test labs. */
export function webhookSender({ config, ownAddresses, ownListeners }: Around): Send {
  const { dns, webhooks } = config;
  const { allowPrivate } = webhooks;
  const lookup = createLookup(dns.servers);
  return async (outgoing) => {
    const [addresses, listeners] = await Promise.all([
      allowPrivate ? [] : ownAddresses(),
      ownListeners(),
    ]);
    const classify = createClassify({ addresses, listeners, isNamed: () => allowPrivate });
    const isAllowed = (address: string, port: number) => classify(address, port) === 'allowed';
    return createSender({ allowPrivate, lookup, isAllowed })(outgoing);
  };
}
