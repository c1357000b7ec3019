/** What the roles of a process share, built once and connected. */

import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { CertificateAuthorities } from '../certificates/authorities/authority.ts';
import { composeAuthorities, composeExternal } from '../certificates/authorities/configured.ts';
import type { ExternalAuthority } from '../certificates/authorities/external.ts';
import { type AuthorityHealth, createAsk } from '../certificates/authorities/health.ts';
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
import { type AccountOf, createAccountOf } from '../db/account-of.ts';
import {
  createEdgeLookups,
  type EdgeLookups,
  edgeConnections,
} from '../db/domains/edge-lookups.ts';
import { createQuarantineStore, type QuarantineStore } from '../db/domains/quarantine.ts';
import { createDueBySweep, type DueBySweep } from '../db/domains/sweeps.ts';
import { type AuthorityKeyStore, createAuthorityKeyStore } from '../db/issuance/authority-keys.ts';
import { type CertificateStore, createCertificateStore } from '../db/issuance/certificates.ts';
import type { Observer } from '../dns/observe/observe.ts';
import { createWire } from '../dns/wire/wire.ts';
import { createKeyedCount, type KeyedCount } from '../net/keyed-count.ts';
import { composeOwnAddresses, type OwnAddresses } from '../net/own-addresses.ts';
import { type BringNow, createBringNow } from '../queue/domain-jobs.ts';
import { openQueues, type SeenQueues } from '../queue/queues.ts';
import type { Send } from '../webhooks/send.ts';
import { budgetsOf, buildHealth, caaAuthoritiesOf } from './authorities.ts';
import { countOrders } from './count-orders.ts';
import { buildHandshakes, type Handshakes } from './handshakes.ts';
import { buildObserver } from './observer.ts';
import type { Opened } from './opened.ts';
import { type ExamineReachOf, reachExaminer } from './reach.ts';
import { createStores, type Stores } from './stores.ts';
import { type CheckUpstream, upstreamChecker } from './upstream-checker.ts';
import { webhookSender } from './webhook-sender.ts';

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
    /** Of the address in a URL, when a deploy is reported. Never rejects. */
    readonly checkUpstream: CheckUpstream;
    /** The TXT value that proves a project's ownership of an apex. */
    proofFor(projectId: string, hostname: string): string;
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
  const observer = replaced.observer ?? buildObserver(opened, wire, probes);
  const targetFor = createTargets(secrets.target, config.platform.domain);
  const authorityKeys = createAuthorityKeyStore(database.prisma);
  const authorities = replaced.authorities ?? authoritiesOf(opened, authorityKeys, lookups);
  const health = buildHealth(opened);
  const external = composeExternal(config, observer.lookupAddresses);
  const certificates = certificatesOf(opened, authorities);
  const ownAddresses = composeOwnAddresses({ config, observer, targetFor, now });
  return {
    ...opened,
    random: () => Math.random(),
    pause: (ms) => wait(ms),
    handshakes: buildHandshakes({ config, database, observer, probes, now }),
    examineReach: reachExaminer({ certificates, config, external, observer, probes, now }),
    send: webhookSender({ config, ownAddresses }),
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
    ownAddresses,
    checkUpstream: upstreamChecker({ config, ownAddresses }),
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
