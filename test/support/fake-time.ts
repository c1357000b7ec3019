/**
 * A domain's life under a fake clock: real worker functions on a real database, each run when due. The test controls
 * DNS and the CA.
 */
import { randomUUID } from 'node:crypto';
import type {
  OrderResult,
  RenewalInformation,
  Silence,
} from '../../src/certificates/authorities/authority.ts';
import { certificateFault } from '../../src/certificates/fault.ts';
import type { DomainJob } from '../../src/core/operations/jobs.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import { createDueBySweep } from '../../src/db/domains/sweeps.ts';
import type { Certificate, Domain, PrismaClient } from '../../src/db/generated/client.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import type { Service } from '../../src/service/service.ts';
import { askRenewals } from '../../workers/ask-renewals.ts';
import { checkDns } from '../../workers/check-dns.ts';
import { escalateCertificate } from '../../workers/escalate-certificate.ts';
import { escalateRenewals } from '../../workers/escalate-renewal.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { recheckLive } from '../../workers/recheck-live.ts';
import { renewCertificate } from '../../workers/renew-certificate.ts';
import type { JobResult } from '../../workers/running/job.ts';
import { later, noon } from './builders.ts';
import { orThrow, plainService, throwingLog } from './plain-service.ts';
import { type SeenAs, seenAs } from './seen-as.ts';
import type { StoredDomains } from './stored-domains.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type FakeTime = {
  readonly id: string;
  now(): Date;
  /** The result of checks from now on; initially the record is missing. */
  dns(shows: SeenAs): void;
  /** The result of orders from now on; initially certificates of 90 days. */
  authority(answers: (now: Date) => OrderResult | Unavailable): void;
  /** The CA's renewal suggestion from now on; initially none. */
  wantsRenewal(asked: Opinion): void;
  /** Advances the clock. Jobs run when due, or every `everyMs` if given. */
  pass(ms: number, everyMs?: number): Promise<void>;
  row(): Promise<Domain>;
  /** Events since `since` (missing: all), with their time in hours since the start. */
  story(since?: Date): Promise<readonly { readonly type: string; readonly hours: number }[]>;
  /** Number of orders ever opened. */
  orders(): Promise<number>;
  /** Check times by host name, including those of other domains. */
  checkTimes(): ReadonlyMap<string, readonly Date[]>;
  /** Escalates again now, like a job that runs twice. */
  escalateAgain(): Promise<JobResult>;
};

type Opinion = (certificate: Certificate, now: Date) => RenewalInformation | Silence | null;

export type LifeOptions = {
  /** Drawn for every check; the middle by default. */
  readonly jitter?: () => number;
  /** Number of domains of other projects in the same world. */
  readonly others?: number;
};

/** A certificate of `days` days from now on. */
export function certificateOf(days: number): (now: Date) => OrderResult {
  return (now) => ({
    kind: 'issued',
    chain: 'PEM',
    issuer: 'Test CA',
    notBefore: now,
    notAfter: later(now, days * DAY),
  });
}

/** A domain added at noon. Removes earlier ones, because sweeps would include them. */
export async function startLife(
  stored: StoredDomains,
  { jitter = () => 0.5, others = 0 }: LifeOptions = {},
): Promise<FakeTime> {
  const { prisma } = stored.database;
  await prisma.domain.updateMany({ where: { removedAt: null }, data: { removedAt: noon } });
  const { id } = await stored.pending(`${randomUUID()}.example.com`);
  for (let nth = 0; nth < others; nth += 1) await stored.pending(`${randomUUID()}.example.com`);
  const checkTimes = new Map<string, Date[]>();
  const authority: Authority = certificateOf(90);
  const opinion: Opinion = () => null;
  const world: World = { now: noon, dns: 'missing', authority, opinion, jitter, checkTimes };
  const service = serviceFor(stored, world);
  const row = () => prisma.domain.findUniqueOrThrow({ where: { id } });

  /** The domain whose next action comes first. */
  async function firstDue(): Promise<{ domain: Domain; at: number } | undefined> {
    const domains = await prisma.domain.findMany({ where: { removedAt: null } });
    const due = domains.map((domain) => ({ domain, at: Math.min(...timesOf(domain)) }));
    return due.sort((one, other) => one.at - other.at)[0];
  }

  async function workUntil(end: Date, everyMs: number): Promise<void> {
    for (let due = await firstDue(); due && due.at <= Number(end); due = await firstDue()) {
      const woken = Math.ceil((due.at - Number(noon)) / everyMs) * everyMs;
      world.now = new Date(Math.max(Number(world.now), Number(noon) + woken));
      if (world.now > end) break;
      await runDue(service, due.domain);
    }
    world.now = end;
  }

  return {
    id,
    now: () => world.now,
    dns: (shows) => {
      world.dns = shows;
    },
    authority: (answers) => {
      world.authority = answers;
    },
    wantsRenewal: (asked) => {
      world.opinion = asked;
    },
    pass: (ms, everyMs = 1) => workUntil(later(world.now, ms), everyMs),
    row,
    async story(since = new Date(0)) {
      const where = { domainId: id, at: { gte: since } };
      const rows = await prisma.event.findMany({ where, orderBy: { id: 'asc' } });
      return rows.map(({ type, at }) => ({ type, hours: (Number(at) - Number(noon)) / HOUR }));
    },
    orders: () => prisma.certificate.count({ where: { domainId: id } }),
    checkTimes: () => checkTimes,
    escalateAgain: async () =>
      escalateCertificate(service, { domainId: id, epoch: (await row()).epoch }),
  };
}

type Authority = (now: Date) => OrderResult | Unavailable;
type World = {
  now: Date;
  dns: SeenAs;
  authority: Authority;
  opinion: Opinion;
  readonly jitter: () => number;
  readonly checkTimes: Map<string, Date[]>;
};

/** Due times of a domain's actions, in milliseconds. */
function timesOf(domain: Domain): number[] {
  const { status, nextCheckAt, escalateAt, recheckAt, renewAt, renewalInfoAt } = domain;
  const waits = status === 'pending' || status === 'verified';
  const times = [
    waits ? nextCheckAt : recheckAt,
    status === 'verified' || status === 'live' || status === 'drifted' ? escalateAt : null,
    status === 'live' ? renewAt : null,
    status === 'live' ? renewalInfoAt : null,
  ];
  return times.flatMap((time) => (time === null ? [] : [Number(time)]));
}

/** Only DNS and CA are scripted. */
function serviceFor({ database }: StoredDomains, world: World): Service {
  const { prisma } = database;
  const observe = async (name: { readonly hostname: string; readonly target: string }) => {
    const { hostname } = name;
    world.checkTimes.set(hostname, [...(world.checkTimes.get(hostname) ?? []), world.now]);
    return { ...seenAs(world.dns, name), at: world.now.toISOString() };
  };
  const authority = {
    name: 'Test CA',
    advance: async () => orThrow(world.authority(world.now)),
    renewalInfo: async () => renewalInfoIn(prisma, world),
  };
  const service = plainService({
    database,
    authorities: [{ directoryUrl: null, issuerDomains: ['ca.test'], authority }],
    certificates: createCertificateStore(prisma, { timeScale: 1 }),
    checks: createCheckStore(database),
    observer: {
      observe,
      observeAgain: async (name) => ({ kind: 'observed', observation: await observe(name) }),
    },
    queues: { enqueue: async () => undefined, remove: async () => undefined },
    quarantine: { find: async () => null },
    due: createDueBySweep(prisma),
    // An escalation wakes the order's job, which has ended when this does.
    bringNow: async (_queue: string, job: DomainJob) => void (await issueCertificate(service, job)),
    random: world.jitter,
    now: () => world.now,
    log: throwingLog,
  });
  return service;
}

/** The tests have one live domain at a time. */
async function renewalInfoIn(prisma: PrismaClient, world: World) {
  const certificate = await prisma.certificate.findFirstOrThrow({
    where: { status: 'issued', domain: { removedAt: null } },
    orderBy: { createdAt: 'desc' },
  });
  const opinion = world.opinion(certificate, world.now);
  if (opinion === null || !('kind' in opinion)) return opinion;
  const { isAway, retryAfter } = opinion;
  const code = isAway ? 'ca_unreachable' : 'ca_failed';
  throw certificateFault(code, 'no opinion', retryAfter ? { retryAfter } : {});
}

const running = new AbortController().signal;

/** The job or the sweep of a domain that is due. */
async function runDue(service: Service, domain: Domain): Promise<void> {
  const { id: domainId, epoch, status, escalateAt, recheckAt, renewAt, renewalInfoAt } = domain;
  const job = { domainId, epoch };
  const isDue = (at: Date | null) => at !== null && at <= service.now();
  if (status === 'pending') return void (await checkDns(service, job));
  if (status === 'verified') {
    const isLate = isDue(escalateAt);
    return void (await (isLate ? escalateCertificate : issueCertificate)(service, job));
  }
  if (isDue(recheckAt)) await recheckLive(service, running);
  if (isDue(renewAt)) await renewCertificate(service, running);
  if (isDue(escalateAt)) await escalateRenewals(service, running);
  if (isDue(renewalInfoAt)) await askRenewals(service, running);
}
