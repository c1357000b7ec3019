/** Orders and their certificates. Each step is stored before the next is taken, so that a crash continues the order. */
import type { BudgetWait, PlacedAs } from '../../core/certificates/budget.ts';
import type { Renewable } from '../../core/certificates/plan.ts';
import { severities } from '../../core/diagnosis/findings.ts';
import { whenNext } from '../../core/life/check.ts';
import { findingsChanged } from '../../core/life/findings-changed.ts';
import { transition } from '../../core/life/lifecycle.ts';
import { type LoadedDomain, stateColumns } from '../domains/domain-row.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import type { Certificate, Prisma, PrismaClient } from '../generated/client.ts';
import {
  type AuthorityBudgets,
  countPlaced,
  countRefusal,
  dropFullBuckets,
  localBudget,
} from './authority-budget.ts';
import { closeEscalation } from './escalations.ts';
import {
  type CertificateSource,
  type IssueWork,
  loadIssueWork,
  type Problem,
  type Setback,
} from './issue-work.ts';
import { type NewOrder, openOrder } from './orders.ts';
import { renewableOf, servedColumns } from './renewals.ts';

export type Issued = {
  readonly chain: string;
  readonly issuer: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
};

export type CertificateStore = {
  /** Undefined where there is no such domain. */
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  /**
   * The open order, or a new one with this key and its tokens of the authority's budget; where one of those is missing,
   * until when. Null where the domain, verified or live when it was loaded, no longer is in this epoch.
   */
  openOrder(
    domain: LoadedDomain,
    order: NewOrder,
    at: Date,
  ): Promise<Certificate | BudgetWait | null>;
  /**
   * Counts an order that is placed now: once more for the account where it was opened long ago, and `plain` as any renewal
   * where it does not name what it replaces. What it has to wait for, where a token is missing.
   */
  beforePlacing(certificateId: string, kind: PlacedAs, now: Date): Promise<BudgetWait | null>;
  /** Throws where another run has placed it, or the order has ended. */
  orderPlaced(certificateId: string, orderUrl: string): Promise<void>;
  /** Throws where the order has ended: its challenge must not be answered any more. */
  publishChallenge(
    certificate: { id: string; hostname: string },
    challenge: { type: string; token: string; keyAuthorization: string },
  ): Promise<void>;
  /**
   * Ends the order with its certificate, once. In this epoch a domain that waits for it becomes live with it; one that
   * is served already has it from now on, and its next renewal is planned. False where the order had ended: another run
   * shared it, perhaps of an earlier life, for which the domain did not go live.
   */
  store(domain: LoadedDomain, certificateId: string, issued: Issued, at: Date): Promise<boolean>;
  /** Makes a waiting domain live with the usable certificate that it has already. */
  reuse(domain: LoadedDomain, usable: Certificate, at: Date): Promise<void>;
  /** Ends the order, once; the domain stays what it is and tries again at `nextAttemptAt`. Answers as `postpone` does. */
  refuse(
    domain: LoadedDomain,
    certificateId: string,
    refusal: { problem: Problem; nextAttemptAt: Date },
    at: Date,
  ): Promise<boolean>;
  /**
   * When a verified domain's certificate is next tried for, or a live one's renewal. False where it is that no more, not
   * in this epoch, or somebody has pressed verify since it was loaded: nothing was planned.
   */
  postpone(domain: LoadedDomain, nextAttemptAt: Date): Promise<boolean>;
  /** Notes why the open order has not come to its end. */
  setBack(certificateId: string, setback: Setback): Promise<void>;
};

/** `verifyWindowMs`: a laboratory's shortens every wait. */
export function createCertificateStore(
  prisma: PrismaClient,
  {
    verifyWindowMs,
    certificates: { source } = { source: 'own' },
  }: {
    readonly verifyWindowMs: number;
    readonly certificates?: { readonly source: CertificateSource };
  },
  budgets: AuthorityBudgets = localBudget,
): CertificateStore {
  return {
    loadWork: (domainId, now) => loadIssueWork(prisma, { domainId, source, budgets, now }),
    async openOrder(domain, order, createdAt) {
      const inOne = { createdAt, budgets };
      const opened = await prisma.$transaction((tx) => openOrder(tx, domain, order, inOne));
      await dropFullBuckets(prisma, createdAt);
      return opened;
    },
    beforePlacing: (id, kind, now) =>
      prisma.$transaction((tx) => countPlaced(tx, budgets, { id, kind, now })),
    async orderPlaced(id, orderUrl) {
      const { count } = await prisma.certificate.updateMany({
        where: { id, status: 'ordering', OR: [{ orderUrl: null }, { orderUrl }] },
        data: { orderUrl },
      });
      if (count === 0) throw new Error('the order was placed by another run, or has ended');
    },
    publishChallenge: ({ id, hostname }, { type, token, keyAuthorization }) =>
      prisma.$transaction(async (tx) => {
        const [open] = await tx.$queryRaw<unknown[]>`
          SELECT 1 FROM certificate WHERE id = ${id}::uuid AND status = 'ordering' FOR UPDATE`;
        if (open === undefined) throw new Error('the order has ended');
        const challenge = { type, keyAuthorization, hostname, certificateId: id };
        await tx.challenge.upsert({
          where: { token },
          create: { token, ...challenge },
          update: challenge,
        });
      }),
    store: (domain, id, issued, at) =>
      prisma.$transaction((tx) =>
        storeIssued(tx, domain, id, { issued, windowMs: verifyWindowMs, at }),
      ),
    reuse: (domain, usable, at) =>
      prisma.$transaction(async (tx) =>
        recordEvents(
          tx,
          await goLive(tx, domain, { ...usableFrom(usable, at), windowMs: verifyWindowMs, at }),
          at,
        ),
      ),
    refuse: (domain, id, refusal, at) =>
      prisma.$transaction((tx) => endRefused(tx, domain, id, refusal, at)),
    postpone: (domain, nextAttemptAt) => postpone(prisma, domain, nextAttemptAt),
    async setBack(id, { at, since, detail, retryAfter, answered }) {
      const times = { at: at.toISOString(), since: since.toISOString() };
      const setback = { ...times, answered, detail, retryAfter: retryAfter?.toISOString() };
      await prisma.certificate.updateMany({ where: { id, status: 'ordering' }, data: { setback } });
    },
  };
}

/** Removal locks the domain before its orders; whoever ends an order does so, too, or the two would wait for each other. */
async function lockDomain(tx: Prisma.TransactionClient, id: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${id}::uuid FOR UPDATE`;
}

async function storeIssued(
  tx: Prisma.TransactionClient,
  domain: LoadedDomain,
  id: string,
  {
    issued,
    windowMs,
    at,
  }: { readonly issued: Issued; readonly windowMs: number; readonly at: Date },
): Promise<boolean> {
  await lockDomain(tx, domain.id);
  if (!(await endOrder(tx, id, { ...issued, status: 'issued', endedAt: at }))) return false;
  const { issuer, expiresAt } = issued;
  const certificate = { ...issued, id, window: null };
  const renews = isServed(domain) && (await keepServed(tx, domain, certificate, at));
  const type = renews ? 'certificate.renewed' : 'certificate.issued';
  const more = renews
    ? await closeEscalation(tx, domain.id, 'certificate_issued', at)
    : await goLive(tx, domain, { issuer, certificate, windowMs, at });
  await recordEvents(tx, [{ type, domainId: domain.id, issuer, expiresAt }, ...more], at);
  return true;
}

function isServed({ state: { status } }: LoadedDomain): boolean {
  return status === 'live' || status === 'drifted';
}

/** Gives a served domain its next certificate; false where it is served no more. */
async function keepServed(
  tx: Prisma.TransactionClient,
  { id, epoch }: LoadedDomain,
  certificate: Renewable,
  at: Date,
): Promise<boolean> {
  const { count } = await tx.domain.updateMany({
    where: { id, epoch, status: { in: ['live', 'drifted'] }, removedAt: null },
    data: {
      ...servedColumns(certificate, at),
      // The check before the order counts: one that was loaded with the certificate before must not end the domain.
      attempts: { increment: 1 },
    },
  });
  return count > 0;
}

/** An issued certificate has all of them. */
function usableFrom(usable: Certificate, at: Date) {
  const { id, issuer } = usable;
  const certificate = renewableOf(usable) ?? { id, issuedAt: at, expiresAt: at, window: null };
  return { issuer: issuer ?? '', certificate };
}

async function endRefused(
  tx: Prisma.TransactionClient,
  domain: LoadedDomain,
  id: string,
  { problem, nextAttemptAt }: { readonly problem: Problem; readonly nextAttemptAt: Date },
  at: Date,
): Promise<boolean> {
  await lockDomain(tx, domain.id);
  const ended = await endOrder(tx, id, { status: 'failed', problem, endedAt: at });
  // Also where another run has ended it: that may have been one of an earlier life, which planned nothing for this one.
  const isPlanned = await postpone(tx, domain, nextAttemptAt);
  if (!ended) return isPlanned;
  const { type: problemType, detail } = problem;
  const order = await tx.certificate.findUniqueOrThrow({ where: { id } });
  // What became of an order that the authority has lost, nobody knows.
  await countRefusal(tx, order, { now: at, mayBeIssued: problemType === 'order_lost' });
  const event = {
    type: 'certificate.failed',
    domainId: domain.id,
    problem: problemType,
    detail,
  } as const;
  await recordEvents(tx, [event], at);
  return isPlanned;
}

/** Ends an order for the first that asks; false for everybody after, whose news is none. */
async function endOrder(
  tx: Prisma.TransactionClient,
  id: string,
  end: Prisma.CertificateUpdateManyMutationInput & { readonly endedAt: Date },
): Promise<boolean> {
  const { count } = await tx.certificate.updateMany({
    where: { id, status: 'ordering' },
    data: end,
  });
  if (count === 0) return false;
  await tx.challenge.deleteMany({ where: { certificateId: id } });
  return true;
}

type LiveFrom = {
  readonly issuer: string;
  readonly certificate: Renewable;
  readonly windowMs: number;
  readonly at: Date;
};

/**
 * `verified` → `live`, with its event; nothing where the domain has moved on. What warns still does; what blocked, or
 * could not be told, is over.
 */
async function goLive(
  tx: Prisma.TransactionClient,
  domain: LoadedDomain,
  { issuer, certificate, windowMs, at }: LiveFrom,
): Promise<readonly NewEvent[]> {
  const { expiresAt } = certificate;
  const step = transition(domain.state, { kind: 'certificate_stored' }, { now: at, windowMs });
  if (step.kind !== 'moved') return [];
  const findings = domain.findings.filter(({ code }) => severities[code] === 'warns');
  const { count } = await tx.domain.updateMany({
    where: { id: domain.id, epoch: domain.epoch, status: domain.state.status, removedAt: null },
    data: {
      ...stateColumns(step.to),
      ...whenNext(step.to, { now: at, windowMs, jitter: Math.random() }, false),
      findings,
      ...servedColumns(certificate, at),
    },
  });
  if (count === 0) return [];
  const changed = findingsChanged(domain.findings, findings);
  const closed = await closeEscalation(tx, domain.id, 'certificate_issued', at);
  return [...about(domain.id, [...changed, { type: 'domain.live', issuer, expiresAt }]), ...closed];
}

async function postpone(
  tx: Prisma.TransactionClient,
  domain: LoadedDomain,
  at: Date,
): Promise<boolean> {
  const { id, epoch, attempts } = domain;
  const inEpoch = { id, epoch, removedAt: null };
  const { count } = isServed(domain)
    ? await tx.domain.updateMany({
        where: { ...inEpoch, status: { in: ['live', 'drifted'] } },
        data: { renewAt: at, leases: 0 },
      })
    : // Verify makes it due at once; the plan of an order that was under way must not put that off.
      await tx.domain.updateMany({
        where: { ...inEpoch, attempts, status: 'verified' },
        data: { nextCheckAt: at },
      });
  return count > 0;
}
