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
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { DomainJob } from '../../src/core/operations/jobs.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDueDomains } from '../../src/db/domains/sweeps.ts';
import type { Certificate, Domain } from '../../src/db/generated/client.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import {
  loadOpenEscalation,
  openEscalation,
  openRenewalEscalation,
  postponeRenewalEscalation,
} from '../../src/db/issuance/escalations.ts';
import { createRenewalStore } from '../../src/db/issuance/renewals.ts';
import { askRenewals } from '../../workers/ask-renewals.ts';
import { checkDns } from '../../workers/check-dns.ts';
import { escalateCertificate } from '../../workers/escalate-certificate.ts';
import {
  type EscalateRenewalDeps,
  escalateRenewals,
  escalationAtEnd,
} from '../../workers/escalate-renewal.ts';
import { issueCertificate, type Unavailable } from '../../workers/issue-certificate.ts';
import { type RecheckLiveDeps, recheckLive } from '../../workers/recheck-live.ts';
import { renewCertificate } from '../../workers/renew-certificate.ts';
import type { JobResult } from '../../workers/running/job.ts';
import { anObservation, checkRules, later, missing, noon } from './builders.ts';
import type { StoredDomains } from './stored-domains.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type FakeTime = {
  readonly id: string;
  now(): Date;
  /** The result of checks from now on; initially the record is missing. */
  dns(shows: Diagnosis): void;
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
  /** Check times by domain id, including those of other domains. */
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
  const world: World = { now: noon, dns: missing, authority, opinion, jitter, checkTimes };
  const workers = composeWorkers(stored, world);
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
      await workers.run(due.domain);
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
    escalateAgain: async () => workers.escalate({ domainId: id, epoch: (await row()).epoch }),
  };
}

type Authority = (now: Date) => OrderResult | Unavailable;
type World = {
  now: Date;
  dns: Diagnosis;
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

function composeWorkers({ database }: StoredDomains, world: World) {
  const { prisma } = database;
  const checks = createCheckStore(database);
  const observe = async ({ id }: LoadedDomain) => {
    world.checkTimes.set(id, [...(world.checkTimes.get(id) ?? []), world.now]);
    return { ...anObservation(), at: world.now.toISOString() };
  };
  const shared = {
    certificates: createCertificateStore(prisma, { timeScale: 1 }),
    load: checks.load,
    save: checks.save,
    observe,
    observeAgain: async (domain: LoadedDomain) =>
      ({ kind: 'observed', observation: await observe(domain) }) as const,
    diagnose: async () => ({ ...world.dns, forbidden: [] }),
    authorities: [null],
    probe: async () => [],
    downForMs: () => 0,
    answeredAt: () => null,
    ask: async () => undefined,
    resolveClaim: () => Promise.reject(new Error('no other project holds the name')),
    enqueueFollowUps: async () => undefined,
    recordServedCertificate: async () => undefined,
    forgetEscalation: async () => undefined,
    newKey: async () => ({ id: randomUUID(), sealedKey: new Uint8Array(4) }),
    advance: async () => world.authority(world.now),
    rules: (now: Date) => ({ ...checkRules(now), jitter: world.jitter() }),
    now: () => world.now,
    onFault: (fault: unknown) => {
      throw fault;
    },
    atOnce: 4,
  };
  const running = new AbortController().signal;
  const due = {
    rechecks: createDueDomains(prisma, 'recheck-live'),
    renewals: createDueDomains(prisma, 'renew-certificate'),
    escalations: createDueDomains(prisma, 'escalate-renewals'),
    questions: createDueDomains(prisma, 'ask-renewals'),
  };
  const cases = {
    ...shared,
    loadWork: shared.certificates.loadWork,
    loadOpen: (domainId: string) => loadOpenEscalation(prisma, domainId),
    findQuarantine: async () => null,
    logEscalation: () => undefined,
  };
  const settled = {
    ...shared,
    escalationAtEnd: (...asked: Parameters<RecheckLiveDeps['escalationAtEnd']>) =>
      escalationAtEnd(cases, ...asked),
  };
  const overdue: EscalateRenewalDeps = {
    ...cases,
    due: due.escalations,
    openEscalation: (...given) => openRenewalEscalation(prisma, ...given),
    postponeEscalation: (...given) => postponeRenewalEscalation(prisma, ...given),
  };
  const asked = {
    ...cases,
    due: due.questions,
    plan: createRenewalStore(prisma).plan,
    ask: async (certificate: Certificate) => world.opinion(certificate, world.now),
  };
  /** Its job wakes the order's, which has ended when this does. */
  const escalate = (job: DomainJob) =>
    escalateCertificate(
      {
        ...cases,
        openEscalation: (...given) => openEscalation(prisma, ...given),
        attemptNow: async (order) => void (await issueCertificate(shared, order)),
      },
      job,
    );
  const sweepsOf = ({ recheckAt, renewAt, escalateAt, renewalInfoAt }: Domain) => [
    { at: recheckAt, sweep: () => recheckLive({ ...settled, due: due.rechecks }, running) },
    {
      at: renewAt,
      sweep: () => renewCertificate({ ...settled, issue: shared, due: due.renewals }, running),
    },
    { at: escalateAt, sweep: () => escalateRenewals(overdue, running) },
    { at: renewalInfoAt, sweep: () => askRenewals(asked, running) },
  ];
  return {
    escalate,
    async run(domain: Domain): Promise<void> {
      const { id: domainId, epoch, status, escalateAt } = domain;
      const job = { domainId, epoch };
      const isDue = (at: Date | null) => at !== null && at <= world.now;
      if (status === 'pending') return void (await checkDns(shared, job));
      if (status === 'verified') {
        return void (await (isDue(escalateAt) ? escalate(job) : issueCertificate(shared, job)));
      }
      for (const { at, sweep } of sweepsOf(domain)) if (isDue(at)) await sweep();
    },
  };
}
