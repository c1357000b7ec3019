/** Each step of an order is stored before the next starts, so a run after a crash continues it. */
import type { BudgetWait, PlacedAs } from '../../core/certificates/budget.ts';
import type { Renewable } from '../../core/certificates/renewal.ts';
import type { DomainChange } from '../../core/life/check.ts';
import { decide } from '../../core/life/decide.ts';
import { isServed, servedStatuses } from '../../core/life/lifecycle.ts';
import type { Certificate } from '../../core/records.ts';
import { commit, loadLocked, schedule } from '../domains/commit.ts';
import type { DomainRow, LoadedDomain } from '../domains/domain-row.ts';
import type { Tx } from '../engine/transaction.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import {
  type AuthorityBudgets,
  countPlaced,
  countRefusal,
  dropFullBuckets,
  dropPastWaiting,
  localBudget,
  noteWaiting,
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
import { renewableOf } from './renewals.ts';

/** `chain`: PEM. */
type IssuedCertificate = {
  readonly chain: string;
  readonly issuer: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
};

type RefusedOrder = {
  /** True for the one caller that ended the order; others that share it come late. */
  readonly hasEnded: boolean;
  /** As from `postpone`. */
  readonly isPlanned: boolean;
};

/** Each resolves once it is committed; `domain` is as loaded, and its epoch fences. */
export type CertificateStore = {
  /** Undefined if the domain does not exist or was removed. */
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  /** The open order, a new one, or the wait. Null if no longer verified or live in this epoch. */
  openOrder(
    domain: LoadedDomain,
    order: NewOrder,
    at: Date,
  ): Promise<Certificate | BudgetWait | null>;
  /** Until then, others take only their share of the orders. `authority`: the directory's URL. */
  noteWaiting(domain: LoadedDomain, authority: string, until: Date): Promise<void>;
  /**
   * Counts an order that is about to be placed, again if it was opened more than a minute ago.
   * `plain`: without `replaces`, so it counts as a renewal. Null: place it. Rejects if another
   * run placed it, or it has ended. Two runs that both pass, and an answer that is lost, still place
   * two orders: one is stored and finalized, the other expires unused.
   */
  beforePlacing(certificateId: string, kind: PlacedAs, now: Date): Promise<BudgetWait | null>;
  /** Idempotent. Rejects if another run stored a different URL, or the order has ended. */
  orderPlaced(certificateId: string, orderUrl: string): Promise<void>;
  /** The edge answers from the commit on. Rejects if the order has ended. */
  publishChallenge(
    certificate: { id: string; hostname: string },
    challenge: { type: string; token: string; keyAuthorization: string },
  ): Promise<void>;
  /**
   * Ends the order with its certificate, once. In this epoch, a waiting domain becomes live, and
   * the next renewal is planned. False if another run, perhaps of an earlier epoch, ended the
   * order.
   */
  store(
    domain: LoadedDomain,
    certificateId: string,
    issued: IssuedCertificate,
    at: Date,
  ): Promise<boolean>;
  /** Makes a verified domain live with an existing certificate; any other stays unchanged. */
  reuse(domain: LoadedDomain, usable: Certificate, at: Date): Promise<void>;
  /** Ends the order, once; the domain stays unchanged and tries again at `nextAttemptAt`. */
  refuse(
    domain: LoadedDomain,
    certificateId: string,
    refusal: { problem: Problem; nextAttemptAt: Date },
    at: Date,
  ): Promise<RefusedOrder>;
  /** False if state or epoch changed or, if verified, it was saved since it was loaded. */
  postpone(domain: LoadedDomain, nextAttemptAt: Date): Promise<boolean>;
  /** Why the open order made no progress. Does nothing if the order has ended. */
  setBack(certificateId: string, setback: Setback): Promise<void>;
};

export function createCertificateStore(
  prisma: PrismaClient,
  {
    timeScale,
    certificates: { source } = { source: 'own' },
  }: {
    readonly timeScale: number;
    readonly certificates?: { readonly source: CertificateSource };
  },
  budgets: AuthorityBudgets = localBudget,
): CertificateStore {
  return {
    loadWork: (domainId, now) => loadIssueWork(prisma, { domainId, source, budgets, now }),
    async openOrder(domain, order, createdAt) {
      const inOne = { createdAt, budgets };
      const opened = await prisma.$transaction((tx) => openOrder(tx, domain, order, inOne));
      await Promise.all([dropFullBuckets(prisma, createdAt), dropPastWaiting(prisma, createdAt)]);
      return opened;
    },
    noteWaiting: ({ projectId }, authority, until) =>
      noteWaiting(prisma, { projectId, authority, until }),
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
      prisma.$transaction((tx) => storeIssued(tx, domain, id, { issued, now: at, timeScale })),
    reuse: (domain, usable, at) =>
      prisma.$transaction((tx) => reuse(tx, domain, usable, { now: at, timeScale })),
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

type StoredTimes = { readonly now: Date; readonly timeScale: number };

async function storeIssued(
  tx: Tx,
  domain: LoadedDomain,
  id: string,
  { issued, ...times }: StoredTimes & { readonly issued: IssuedCertificate },
): Promise<boolean> {
  const { now } = times;
  const row = await loadLocked(tx, domain.id);
  if (!(await endOrder(tx, id, { ...issued, status: 'issued', endedAt: now }))) return false;
  const { issuer, expiresAt } = issued;
  const certificate = { ...issued, id, window: null };
  const { kind, events } = await serveWith(tx, row, domain.epoch, { issuer, certificate }, times);
  const type = kind === 'stayed' ? 'certificate.renewed' : 'certificate.issued';
  await recordEvents(tx, [{ type, domainId: domain.id, issuer, expiresAt }, ...events], now);
  return true;
}

/** Does nothing if the domain has moved on or is in another epoch. */
async function serveWith(
  tx: Tx,
  row: DomainRow | null,
  epoch: number,
  stored: { readonly issuer: string; readonly certificate: Renewable },
  times: StoredTimes,
): Promise<{ readonly kind: DomainChange['kind']; readonly events: readonly NewEvent[] }> {
  if (row?.epoch !== epoch) return { kind: 'refused', events: [] };
  const change = decide(
    row,
    { kind: 'certificate_stored', ...stored, timeScale: times.timeScale },
    times.now,
  );
  if (!(await commit(tx, row, change, times.now))) return { kind: 'refused', events: [] };
  const closed = await closeEscalation(tx, row.id, 'certificate_issued', times.now);
  return { kind: change.kind, events: [...about(row.id, change.events), ...closed] };
}

async function reuse(
  tx: Tx,
  domain: LoadedDomain,
  usable: Certificate,
  times: StoredTimes,
): Promise<void> {
  const row = await loadLocked(tx, domain.id);
  if (row?.state.status !== 'verified') return;
  const { events } = await serveWith(tx, row, domain.epoch, usableFrom(usable, times.now), times);
  await recordEvents(tx, events, times.now);
}

/** An issued certificate has all of these columns; the other values satisfy the compiler. */
function usableFrom(usable: Certificate, at: Date) {
  const { id, issuer } = usable;
  const certificate = renewableOf(usable) ?? { id, issuedAt: at, expiresAt: at, window: null };
  return { issuer: issuer ?? '', certificate };
}

async function endRefused(
  tx: Tx,
  domain: LoadedDomain,
  id: string,
  { problem, nextAttemptAt }: { readonly problem: Problem; readonly nextAttemptAt: Date },
  at: Date,
): Promise<RefusedOrder> {
  await loadLocked(tx, domain.id);
  const hasEnded = await endOrder(tx, id, { status: 'failed', problem, endedAt: at });
  // Even if another run ended it: that run can be of an earlier epoch and planned nothing for this
  // one.
  const isPlanned = await postpone(tx, domain, nextAttemptAt);
  if (!hasEnded) return { hasEnded, isPlanned };
  const { type: problemType, detail } = problem;
  const order = await tx.certificate.findUniqueOrThrow({ where: { id } });
  // The CA can have issued a certificate for an order that it lost, so that order keeps its tokens.
  await countRefusal(tx, order, { now: at, mayBeIssued: problemType === 'order_lost' });
  const event = {
    type: 'certificate.failed',
    domainId: domain.id,
    problem: problemType,
    detail,
  } as const;
  await recordEvents(tx, [event], at);
  return { hasEnded, isPlanned };
}

/** False for later callers, which must not record an event. */
async function endOrder(
  tx: Tx,
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

async function postpone(tx: Tx, domain: LoadedDomain, at: Date): Promise<boolean> {
  const { id, epoch, version } = domain;
  return isServed(domain.state)
    ? schedule(tx, { id, epoch, status: { in: [...servedStatuses] } }, { renewAt: at })
    : // Verify makes the job due at once; a running order's plan must not delay that.
      schedule(tx, { id, epoch, version, status: 'verified' }, { nextCheckAt: at });
}
