/** The one place where parts are built and handed to each other. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { EscalateCertificateDeps } from '../workers/escalate-certificate.ts';
import type { IssueCertificateDeps } from '../workers/issue-certificate.ts';
import type { WorkerDeps } from '../workers/start.ts';
import { composeAuthority } from './certificates/compose.ts';
import { isCertificateFault } from './certificates/fault.ts';
import { generateCertificateKey, privateKeyFromPem, privateKeyToPem } from './certificates/keys.ts';
import { createVault } from './certificates/vault.ts';
import type { Config } from './config.ts';
import type { CaaAuthority } from './core/caa/caa-set.ts';
import type { CheckRules } from './core/check.ts';
import { diagnose } from './core/diagnosis/diagnosis.ts';
import { followUps } from './core/follow-ups.ts';
import { splitAtZone } from './core/zone.ts';
import { createAuthorityKeyStore } from './db/authority-keys.ts';
import { createCertificateStore } from './db/certificates.ts';
import { createCheckStore } from './db/checks.ts';
import type { Database } from './db/client.ts';
import { createDomainStore } from './db/domains.ts';
import { createEdgeLookups } from './db/edge-lookups.ts';
import { openEscalation } from './db/escalations.ts';
import type { Certificate } from './db/generated/client.ts';
import { createProjectStore } from './db/projects.ts';
import { createWaitingStore } from './db/waiting.ts';
import { createObserver } from './dns/observe.ts';
import { createWire } from './dns/wire/wire.ts';
import type { QueueBackend } from './queue/backend.ts';
import type { QueueName } from './queue/names.ts';
import { forgetJobs, openQueues } from './queue/queues.ts';
import { createTargets } from './target.ts';

export type Clock = () => Date;

/** What is open before anything is composed. */
export type Opened = {
  readonly config: Config;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly keyEncryptionKey: Uint8Array;
  readonly log: Logger;
  readonly now: Clock;
};

export type Parts = ReturnType<typeof compose>;

/** Builds every part once. Nothing here asks the network; `close` lets go of what it opened. */
export function compose(opened: Opened) {
  const { config, database, backend, keyEncryptionKey, log, now } = opened;
  const { prisma } = database;
  const wire = createWire();
  const queues = openQueues(backend);
  const vault = createVault(keyEncryptionKey);
  const lookups = createEdgeLookups(prisma);
  const keys = createAuthorityKeyStore(prisma);
  const authority = composeAuthority({
    config: config.acme,
    keys,
    vault,
    isHeld: async (hostname) => (await lookups.findRoute(hostname)) !== null,
    now,
  });
  const parts = {
    ...opened,
    queues,
    vault,
    lookups,
    keys,
    /** The local authority's root in PEM, once it has signed something. */
    rootCertificate: async () => (await keys.loadRoot())?.certificate ?? null,
    observer: createObserver({
      wire,
      config: config.dns,
      platformAddresses: config.platform.addresses,
    }),
    authority,
    /** As CAA records name the authority in use. */
    caaAuthority: async (): Promise<CaaAuthority> => ({
      issuerDomains: config.acme.issuerDomains,
      accountUri: await authority.accountUri(),
      method: 'http-01',
    }),
    projects: createProjectStore(prisma),
    domains: createDomainStore(prisma),
    checks: createCheckStore(prisma),
    certificates: createCertificateStore(prisma),
    waiting: createWaitingStore(prisma),
    targetFor: createTargets(keyEncryptionKey, config.platform.domain),
  };
  return {
    ...parts,
    wake: createWake(parts),
    async close() {
      await queues.close();
      wire.close();
      log.debug('parts closed');
    },
  };
}

/** Makes sure that a waiting domain's jobs exist. */
function createWake({ queues }: { queues: ReturnType<typeof openQueues> }) {
  return async (domain: Parameters<typeof followUps>[0] & { id: string; epoch: number }) => {
    const job = { domainId: domain.id, epoch: domain.epoch };
    for (const { queue, runAt } of followUps(domain)) await queues.enqueue(queue, [{ job, runAt }]);
  };
}

/** The functions that the workers are handed. */
export function composeWorkers(parts: Parts): WorkerDeps {
  const { backend, queues, waiting, log, now, config } = parts;
  const issue = issueDeps(parts);
  return {
    backend,
    log,
    checkDns: {
      ...issue,
      load: parts.checks.load,
      // After verify (no attempt yet) it looks at everything anew.
      observe: ({ hostname, target, attempts, observation }) =>
        parts.observer.observe(lookAt({ hostname, target }), attempts > 0 ? observation : null),
    },
    issueCertificate: issue,
    escalateCertificate: escalateDeps(parts, issue),
    reconcile: { waiting, jobsAlive: (name) => jobsAlive(parts, name), ensure: queues.ensure, now },
    // A laboratory's short window makes everything quicker, the repairs too.
    // A look waits for the network most of the time; many at once travel to the database together. A queue in
    // PostgreSQL is slower than that, whatever the number.
    looksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    reconcileEveryMs: Math.min(20_000, Math.max(1_000, config.verifyWindowMs / 200)),
  };
}

async function jobsAlive({ queues }: Parts, name: QueueName): Promise<number> {
  const { waiting, delayed, active, prioritized } = await queues.counts(name);
  return waiting + delayed + active + prioritized;
}

function issueDeps(parts: Parts): IssueCertificateDeps {
  const { certificates, checks, config, now, observer, queues, vault } = parts;
  return {
    now,
    certificates,
    save: checks.save,
    observe: (domain) => observer.observe(lookAt(domain)),
    diagnose: async ({ hostname, target }, observation) =>
      diagnose(observation, {
        hostname,
        target,
        ca: await parts.caaAuthority(),
        allowPrivate: config.dns.allowPrivate,
      }),
    rules: (at) => checkRules(config, at),
    async enqueueFollowUps({ id, epoch }, { to, nextCheckAt, escalateAt }) {
      await parts.wake({ id, epoch, status: to.status, nextCheckAt, escalateAt });
      // A way back to pending began a new life (src/db/moves.ts); the jobs of the one before only wait to end.
      if (to.status === 'pending') await forgetJobs(queues, { domainId: id, epoch: epoch - 1 });
    },
    forgetEscalation: (job) => queues.remove('escalate-certificate', job),
    async newKey() {
      const id = randomUUID();
      const pem = Buffer.from(privateKeyToPem(generateCertificateKey()));
      return { id, sealedKey: vault.seal(pem, sealOf(id)) };
    },
    advance: (certificate) => advance(parts, certificate),
  };
}

function lookAt({ hostname, target }: { readonly hostname: string; readonly target: string }) {
  return { hostname, target, apex: splitAtZone(hostname).apex };
}

async function advance({ authority, certificates, vault }: Parts, certificate: Certificate) {
  const { id, hostname, orderUrl, sealedKey } = certificate;
  const privateKey = privateKeyFromPem(vault.open(sealedKey, sealOf(id)));
  try {
    return await authority.advance(
      { hostname, orderUrl, privateKey },
      {
        orderPlaced: (url) => certificates.orderPlaced(id, url),
        publishChallenge: (challenge) => certificates.publishChallenge({ id, hostname }, challenge),
      },
    );
  } catch (fault) {
    // An authority that is away is part of the plan, not a fault of the job.
    if (!isCertificateFault(fault) || fault.code.startsWith('vault_')) throw fault;
    return { kind: 'unavailable', retryAfter: fault.retryAfter } as const;
  }
}

function escalateDeps(parts: Parts, issue: IssueCertificateDeps): EscalateCertificateDeps {
  const { certificates, database, queues } = parts;
  return {
    ...issue,
    loadWork: certificates.loadWork,
    openEscalation: (domain, escalation, at) =>
      openEscalation(database.prisma, domain, escalation, at),
    attemptNow: (job) => queues.promote('issue-certificate', job),
  };
}

function checkRules({ verifyWindowMs, escalateAfterMs }: Config, now: Date): CheckRules {
  const jitter = Math.random();
  return { now, windowMs: verifyWindowMs, escalateAfterMs, jitter, eager: false };
}

/** What a certificate's key is bound to in the vault. */
export function sealOf(certificateId: string): string {
  return `certificate/${certificateId}`;
}
