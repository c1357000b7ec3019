/** Orders and their certificates. Each step is stored before the next is taken, so that a crash continues the order. */
import type { Access } from '../../core/accounts/access.ts';
import type { BudgetWait, PlacedAs } from '../../core/certificates/budget.ts';
import type { Renewable } from '../../core/certificates/plan.ts';
import type { Change } from '../../core/life/change.ts';
import { decide } from '../../core/life/decide.ts';
import type { Rules } from '../../core/life/lifecycle.ts';
import type { Certificate } from '../../core/records.ts';
import { commit, loadLocked, schedule, served } from '../domains/commit.ts';
import type { DomainRow, LoadedDomain } from '../domains/domain-row.ts';
import type { Tx } from '../engine/transaction.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
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
import { findOrderLimits, type OrderLimits } from './order-limits.ts';
import { type NewOrder, openOrder } from './orders.ts';
import { renewableOf } from './renewals.ts';

/** A certificate that came of an order. `chain` is in PEM. */
export type Issued = {
  readonly chain: string;
  readonly issuer: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
};

/** What came of a refusal. */
export type Refused = {
  /** True for one caller alone, who has ended the order; others that shared it come late. */
  readonly hasEnded: boolean;
  /** Whether the next try is planned, as `postpone` answers. */
  readonly isPlanned: boolean;
};

/** The steps of orders. A step resolves once it is committed; `domain` is what was loaded, and fences by its epoch. */
export type CertificateStore = {
  /** Undefined where there is no such domain, or it was removed. */
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  /**
   * The open order, or a new one with this key and its tokens of the authority's budget; where one of those is missing, what
   * it has to wait for. Null where the domain, verified or live when it was loaded, is not that any more in this epoch.
   */
  openOrder(
    domain: LoadedDomain,
    order: NewOrder,
    at: Date,
  ): Promise<Certificate | BudgetWait | null>;
  /**
   * Counts an order that is about to be placed: once more for the account if it was opened more than a minute ago. `plain`:
   * it names no certificate that it replaces, and counts as a renewal. Null where it may be placed; else what it has to wait
   * for. Rejects where the order has ended.
   */
  beforePlacing(certificateId: string, kind: PlacedAs, now: Date): Promise<BudgetWait | null>;
  /** Stores the order's URL. Rejects where another run has stored another one, or the order has ended; else idempotent. */
  orderPlaced(certificateId: string, orderUrl: string): Promise<void>;
  /** From the commit on the edge answers the challenge. Rejects where the order has ended: then it must not be answered. */
  publishChallenge(
    certificate: { id: string; hostname: string },
    challenge: { type: string; token: string; keyAuthorization: string },
  ): Promise<void>;
  /**
   * Ends the order with its certificate, once. In this epoch a domain that waits for it becomes live with it; one that
   * is served already has it from now on, and its next renewal is planned. False where the order had ended: another run
   * shared it, perhaps of an earlier epoch, for which the domain did not go live.
   */
  store(domain: LoadedDomain, certificateId: string, issued: Issued, at: Date): Promise<boolean>;
  /** Makes a verified domain live with the usable certificate that it has already; any other one stays what it is. */
  reuse(domain: LoadedDomain, usable: Certificate, at: Date): Promise<void>;
  /** Ends the order, once; the domain stays what it is and tries again at `nextAttemptAt`. */
  refuse(
    domain: LoadedDomain,
    certificateId: string,
    refusal: { problem: Problem; nextAttemptAt: Date },
    at: Date,
  ): Promise<Refused>;
  /**
   * Plans the next try for a verified domain's certificate, or for the renewal of a served one. False, with nothing planned,
   * where the domain is no longer that in this epoch or, if verified, was changed since it was loaded.
   */
  postpone(domain: LoadedDomain, nextAttemptAt: Date): Promise<boolean>;
  /** What keeps the next order of an attached name back; null where no project that is reached has it. */
  findLimits(access: Access, hostname: string, now: Date): Promise<OrderLimits | null>;
  /** Stores why the open order got no further. Does nothing where the order has ended. */
  setBack(certificateId: string, setback: Setback): Promise<void>;
};

/** `verifyWindowMs`: a laboratory's shortens every wait. Without `budgets`, those of a local authority hold. */
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
    findLimits: (access, hostname, now) =>
      findOrderLimits(prisma, { access, hostname, budgets, now }),
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
        storeIssued(tx, domain, id, { issued, now: at, windowMs: verifyWindowMs }),
      ),
    reuse: (domain, usable, at) =>
      prisma.$transaction((tx) => reuse(tx, domain, usable, { now: at, windowMs: verifyWindowMs })),
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

async function storeIssued(
  tx: Tx,
  domain: LoadedDomain,
  id: string,
  { issued, ...rules }: Rules & { readonly issued: Issued },
): Promise<boolean> {
  const { now } = rules;
  const row = await loadLocked(tx, domain.id);
  if (!(await endOrder(tx, id, { ...issued, status: 'issued', endedAt: now }))) return false;
  const { issuer, expiresAt } = issued;
  const certificate = { ...issued, id, window: null };
  const { kind, events } = await serveWith(tx, row, domain.epoch, { issuer, certificate }, rules);
  const type = kind === 'stayed' ? 'certificate.renewed' : 'certificate.issued';
  await recordEvents(tx, [{ type, domainId: domain.id, issuer, expiresAt }, ...events], now);
  return true;
}

/** What becomes of a domain that has the certificate now: nothing where it has moved on, or is in another epoch. */
async function serveWith(
  tx: Tx,
  row: DomainRow | null,
  epoch: number,
  stored: { readonly issuer: string; readonly certificate: Renewable },
  rules: Rules,
): Promise<{ readonly kind: Change['kind']; readonly events: readonly NewEvent[] }> {
  if (row?.epoch !== epoch) return { kind: 'refused', events: [] };
  const change = decide(row, { kind: 'certificate_stored', ...stored }, rules);
  if (!(await commit(tx, row, change, rules.now))) return { kind: 'refused', events: [] };
  const closed = await closeEscalation(tx, row.id, 'certificate_issued', rules.now);
  return { kind: change.kind, events: [...about(row.id, change.events), ...closed] };
}

/** Makes a waiting domain live; one that waits no more stays what it is. */
async function reuse(
  tx: Tx,
  domain: LoadedDomain,
  usable: Certificate,
  rules: Rules,
): Promise<void> {
  const row = await loadLocked(tx, domain.id);
  if (row?.state.status !== 'verified') return;
  const { events } = await serveWith(tx, row, domain.epoch, usableFrom(usable, rules.now), rules);
  await recordEvents(tx, events, rules.now);
}

/** An issued certificate has all of these columns; the other values are for the compiler. */
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
): Promise<Refused> {
  await loadLocked(tx, domain.id);
  const hasEnded = await endOrder(tx, id, { status: 'failed', problem, endedAt: at });
  // Also where another run has ended it: that may have been one of an earlier epoch, which planned nothing for this one.
  const isPlanned = await postpone(tx, domain, nextAttemptAt);
  if (!hasEnded) return { hasEnded, isPlanned };
  const { type: problemType, detail } = problem;
  const order = await tx.certificate.findUniqueOrThrow({ where: { id } });
  // The authority may have issued a certificate for an order that it has lost, so that keeps its tokens.
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

/** Ends an order for the first caller; false for every later one, which must record no event about it. */
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
  return served.some((status) => status === domain.state.status)
    ? schedule(tx, { id, epoch, status: { in: served } }, { renewAt: at })
    : // Verify makes it due at once; the plan of an order that was under way must not put that off.
      schedule(tx, { id, epoch, version, status: 'verified' }, { nextCheckAt: at });
}
