/** Orders and their certificates. Each step is stored before the next is taken, so that a crash continues the order. */
import type { Refusal } from '../core/certificate-plan.ts';
import { severities } from '../core/diagnosis/findings.ts';
import { findingsChanged } from '../core/findings-changed.ts';
import { transition } from '../core/lifecycle.ts';
import { type LoadedDomain, stateColumns, toLoadedDomain } from './domain-row.ts';
import { closeEscalation } from './escalations.ts';
import { tell } from './events.ts';
import type { Certificate, Prisma, PrismaClient } from './generated/client.ts';

export type IssueWork = {
  readonly domain: LoadedDomain;
  /** The open order, if there is one. */
  readonly order: Certificate | null;
  /** A certificate from before that has not ended. */
  readonly usable: Certificate | null;
  /** Orders refused since the domain was verified; past the plan's last step the number no longer matters. */
  readonly refusals: number;
  /** Why the newest of them was. */
  readonly lastProblem: Problem | null;
  /** The newest refusals of this name, from whichever life, for what the authority allows. */
  readonly recentRefusals: readonly Refusal[];
};

export type Issued = {
  readonly chain: string;
  readonly issuer: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
};

export type Problem = {
  readonly type: string;
  readonly detail: string;
  /** RFC 3339; the authority asked for no order before then. */
  readonly retryAfter?: string;
};

export type CertificateStore = {
  /** Undefined where there is no such domain. */
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  /** The open order, or a new one with this key; null where the domain no longer waits for one in this epoch. */
  openOrder(
    domain: LoadedDomain,
    order: { id: string; sealedKey: Uint8Array },
  ): Promise<Certificate | null>;
  /** Throws where another run has placed it, or the order has ended. */
  orderPlaced(certificateId: string, orderUrl: string): Promise<void>;
  /** Throws where the order has ended: its challenge must not be answered any more. */
  publishChallenge(
    certificate: { id: string; hostname: string },
    challenge: { token: string; keyAuthorization: string },
  ): Promise<void>;
  /** Ends the order with its certificate, once, and makes the domain live if it waits for it in this epoch. */
  store(domain: LoadedDomain, certificateId: string, issued: Issued, at: Date): Promise<void>;
  /** Makes a waiting domain live with the usable certificate that it has already. */
  reuse(domain: LoadedDomain, at: Date): Promise<void>;
  /** Ends the order, once; the domain stays verified and tries again at `nextAttemptAt`. */
  refuse(
    domain: LoadedDomain,
    certificateId: string,
    refusal: { problem: Problem; nextAttemptAt: Date },
    at: Date,
  ): Promise<void>;
  /** When a verified domain is next worked on. */
  postpone(domain: LoadedDomain, nextAttemptAt: Date): Promise<void>;
};

const REFUSALS_COUNTED = 10;
/** Our own word for an order that nobody refused. */
export const SUPERSEDED = 'superseded';

export function createCertificateStore(prisma: PrismaClient): CertificateStore {
  return {
    loadWork: (domainId, now) => loadWork(prisma, domainId, now),
    openOrder: (domain, order) => prisma.$transaction((tx) => openOrder(tx, domain, order)),
    async orderPlaced(id, orderUrl) {
      const { count } = await prisma.certificate.updateMany({
        where: { id, status: 'ordering', OR: [{ orderUrl: null }, { orderUrl }] },
        data: { orderUrl },
      });
      if (count === 0) throw new Error('the order was placed by another run, or has ended');
    },
    publishChallenge: ({ id, hostname }, { token, keyAuthorization }) =>
      prisma.$transaction(async (tx) => {
        const [open] = await tx.$queryRaw<unknown[]>`
          SELECT 1 FROM certificate WHERE id = ${id}::uuid AND status = 'ordering' FOR UPDATE`;
        if (open === undefined) throw new Error('the order has ended');
        const challenge = { keyAuthorization, hostname, certificateId: id };
        await tx.challenge.upsert({
          where: { token },
          create: { token, ...challenge },
          update: challenge,
        });
      }),
    store: (domain, id, issued, at) =>
      prisma.$transaction(async (tx) => {
        await lockDomain(tx, domain.id);
        if (!(await endOrder(tx, id, { ...issued, status: 'issued' }))) return;
        const { issuer, expiresAt } = issued;
        await tell(tx, domain.id, [{ type: 'certificate.issued', issuer, expiresAt }], at);
        await goLive(tx, domain, at);
      }),
    reuse: (domain, at) => prisma.$transaction((tx) => goLive(tx, domain, at)),
    refuse: (domain, id, { problem, nextAttemptAt }, at) =>
      prisma.$transaction(async (tx) => {
        await lockDomain(tx, domain.id);
        if (!(await endOrder(tx, id, { status: 'failed', problem }))) return;
        await postpone(tx, domain, nextAttemptAt);
        const { type, detail } = problem;
        await tell(tx, domain.id, [{ type: 'certificate.failed', problem: type, detail }], at);
      }),
    postpone: (domain, nextAttemptAt) => postpone(prisma, domain, nextAttemptAt),
  };
}

/** Removal locks the domain before its orders; whoever ends an order does so, too, or the two would wait for each other. */
async function lockDomain(tx: Prisma.TransactionClient, id: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${id}::uuid FOR UPDATE`;
}

/** Ends an order for the first that asks; false for everybody after, whose news is none. */
async function endOrder(
  tx: Prisma.TransactionClient,
  id: string,
  end: Prisma.CertificateUpdateManyMutationInput,
): Promise<boolean> {
  const { count } = await tx.certificate.updateMany({
    where: { id, status: 'ordering' },
    data: end,
  });
  if (count === 0) return false;
  await tx.challenge.deleteMany({ where: { certificateId: id } });
  return true;
}

async function loadWork(
  prisma: PrismaClient,
  domainId: string,
  now: Date,
): Promise<IssueWork | undefined> {
  const row = await prisma.domain.findFirst({ where: { id: domainId, removedAt: null } });
  if (row === null) return undefined;
  const [order, usable, ended] = await Promise.all([
    prisma.certificate.findFirst({ where: { domainId, status: 'ordering' } }),
    prisma.certificate.findFirst({
      where: { domainId, status: 'issued', expiresAt: { gt: now } },
      orderBy: { expiresAt: 'desc' },
    }),
    prisma.certificate.findMany({
      where: { domainId, status: 'failed' },
      orderBy: { createdAt: 'desc' },
      take: REFUSALS_COUNTED,
    }),
  ]);
  const refused = ended.flatMap(({ createdAt, problem }) => refusalOf(createdAt, problem));
  const since = row.verifiedAt ?? row.pendingSince;
  const inThisLife = refused.filter(({ at }) => at >= since);
  return {
    domain: toLoadedDomain(row),
    order,
    usable,
    refusals: inThisLife.length,
    lastProblem: inThisLife[0]?.problem ?? null,
    recentRefusals: refused,
  };
}

/** An order that ended because its domain was removed was not refused. */
function refusalOf(at: Date, stored: Prisma.JsonValue) {
  const problem = stored as Problem | null; // written by refuse() and endOrders() only
  if (problem === null || problem.type === SUPERSEDED) return [];
  const retryAfter = problem.retryAfter === undefined ? null : new Date(problem.retryAfter);
  return [{ at, retryAfter, problem }];
}

async function openOrder(
  tx: Prisma.TransactionClient,
  { id: domainId, hostname, epoch }: LoadedDomain,
  order: { id: string; sealedKey: Uint8Array },
): Promise<Certificate | null> {
  // The lock keeps removal, verify and another worker out until the order is there.
  const [waiting] = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM domain WHERE id = ${domainId}::uuid AND epoch = ${epoch}
      AND status = 'verified' AND removed_at IS NULL FOR UPDATE`;
  if (waiting === undefined) return null;
  const open = await tx.certificate.findFirst({ where: { domainId, status: 'ordering' } });
  if (open !== null) return open;
  const sealedKey = Uint8Array.from(order.sealedKey);
  return tx.certificate.create({
    data: { id: order.id, sealedKey, domainId, hostname, status: 'ordering' },
  });
}

/** Ends the open order of a domain that is removed or lost: it is not continued, its challenges are not answered. */
export async function endOrders(tx: Prisma.TransactionClient, domainId: string): Promise<void> {
  await tx.challenge.deleteMany({ where: { certificate: { domainId } } });
  await tx.certificate.updateMany({
    where: { domainId, status: 'ordering' },
    data: { status: 'failed', problem: { type: SUPERSEDED, detail: 'The domain was removed.' } },
  });
}

/**
 * `verified` → `live`, with its event; nothing where the domain has moved on. What warns still does; what blocked, or
 * could not be told, is over.
 */
async function goLive(tx: Prisma.TransactionClient, domain: LoadedDomain, at: Date): Promise<void> {
  const step = transition(domain.state, { kind: 'certificate_stored' }, { now: at, windowMs: 0 });
  if (step.kind !== 'moved') return;
  const findings = domain.findings.filter(({ code }) => severities[code] === 'warns');
  const { count } = await tx.domain.updateMany({
    where: { id: domain.id, epoch: domain.epoch, status: domain.state.status, removedAt: null },
    data: { ...stateColumns(step.to), findings, nextCheckAt: null, escalateAt: null },
  });
  if (count === 0) return;
  await closeEscalation(tx, domain.id, at);
  const changed = findingsChanged(domain.findings, findings);
  await tell(tx, domain.id, [...changed, { type: step.event }], at);
}

async function postpone(
  tx: Prisma.TransactionClient,
  { id, epoch }: LoadedDomain,
  nextCheckAt: Date,
): Promise<void> {
  await tx.domain.updateMany({
    where: { id, epoch, status: 'verified', removedAt: null },
    data: { nextCheckAt },
  });
}
