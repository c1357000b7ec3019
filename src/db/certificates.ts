/** Orders and their certificates. Each step is stored before the next is taken, so that a crash continues the order. */
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
};

export type Issued = {
  readonly chain: string;
  readonly issuer: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
};

export type Problem = { readonly type: string; readonly detail: string };

export type CertificateStore = {
  /** Undefined where there is no such domain. */
  loadWork(domainId: string, now: Date): Promise<IssueWork | undefined>;
  /** Opens an order with its key; where one is open already, that one. */
  openOrder(
    domain: LoadedDomain,
    order: { id: string; sealedKey: Uint8Array },
  ): Promise<Certificate>;
  orderPlaced(certificateId: string, orderUrl: string): Promise<void>;
  publishChallenge(
    certificate: { id: string; hostname: string },
    challenge: { token: string; keyAuthorization: string },
  ): Promise<void>;
  /** Stores the certificate and, if the domain still waits for it in this epoch, makes it live. */
  store(domain: LoadedDomain, certificateId: string, issued: Issued, at: Date): Promise<void>;
  /** Makes a waiting domain live with the usable certificate that it has already. */
  reuse(domain: LoadedDomain, at: Date): Promise<void>;
  /** Ends the order; the domain stays verified and tries again at `nextAttemptAt`. */
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

export function createCertificateStore(prisma: PrismaClient): CertificateStore {
  return {
    loadWork: (domainId, now) => loadWork(prisma, domainId, now),
    openOrder: (domain, order) => openOrder(prisma, domain, order),
    async orderPlaced(id, orderUrl) {
      await prisma.certificate.update({ where: { id }, data: { orderUrl } });
    },
    async publishChallenge({ id, hostname }, { token, keyAuthorization }) {
      await prisma.challenge.upsert({
        where: { token },
        create: { token, keyAuthorization, hostname, certificateId: id },
        update: { keyAuthorization, hostname, certificateId: id },
      });
    },
    store: (domain, id, issued, at) =>
      prisma.$transaction(async (tx) => {
        await tx.certificate.update({ where: { id }, data: { ...issued, status: 'issued' } });
        await tx.challenge.deleteMany({ where: { certificateId: id } });
        const { issuer, expiresAt } = issued;
        await tell(tx, domain.id, [{ type: 'certificate.issued', issuer, expiresAt }], at);
        await goLive(tx, domain, at);
      }),
    reuse: (domain, at) => prisma.$transaction((tx) => goLive(tx, domain, at)),
    refuse: (domain, id, { problem, nextAttemptAt }, at) =>
      prisma.$transaction(async (tx) => {
        await tx.certificate.update({ where: { id }, data: { status: 'failed', problem } });
        await tx.challenge.deleteMany({ where: { certificateId: id } });
        await postpone(tx, domain, nextAttemptAt);
        const { type, detail } = problem;
        await tell(tx, domain.id, [{ type: 'certificate.failed', problem: type, detail }], at);
      }),
    postpone: (domain, nextAttemptAt) => postpone(prisma, domain, nextAttemptAt),
  };
}

async function loadWork(
  prisma: PrismaClient,
  domainId: string,
  now: Date,
): Promise<IssueWork | undefined> {
  const row = await prisma.domain.findFirst({ where: { id: domainId, removedAt: null } });
  if (row === null) return undefined;
  const [order, usable, refused] = await Promise.all([
    prisma.certificate.findFirst({ where: { domainId, status: 'ordering' } }),
    prisma.certificate.findFirst({
      where: { domainId, status: 'issued', expiresAt: { gt: now } },
      orderBy: { expiresAt: 'desc' },
    }),
    prisma.certificate.findMany({
      where: { domainId, status: 'failed', createdAt: { gte: row.verifiedAt ?? row.pendingSince } },
      orderBy: { createdAt: 'desc' },
      take: REFUSALS_COUNTED,
    }),
  ]);
  const lastProblem = (refused[0]?.problem ?? null) as Problem | null; // written by refuse() only
  return { domain: toLoadedDomain(row), order, usable, refusals: refused.length, lastProblem };
}

async function openOrder(
  prisma: PrismaClient,
  { id: domainId, hostname }: LoadedDomain,
  order: { id: string; sealedKey: Uint8Array },
): Promise<Certificate> {
  // The partial unique index decides between two workers: the second finds the first one's order.
  await prisma.certificate.createMany({
    data: [
      {
        ...order,
        sealedKey: Uint8Array.from(order.sealedKey),
        domainId,
        hostname,
        status: 'ordering',
      },
    ],
    skipDuplicates: true,
  });
  return prisma.certificate.findFirstOrThrow({ where: { domainId, status: 'ordering' } });
}

/** `verified` → `live`, with its event; nothing where the domain has moved on. */
async function goLive(tx: Prisma.TransactionClient, domain: LoadedDomain, at: Date): Promise<void> {
  const step = transition(domain.state, { kind: 'certificate_stored' }, { now: at, windowMs: 0 });
  if (step.kind !== 'moved') return;
  const { count } = await tx.domain.updateMany({
    where: { id: domain.id, epoch: domain.epoch, status: domain.state.status, removedAt: null },
    data: { ...stateColumns(step.to), nextCheckAt: null, escalateAt: null },
  });
  if (count === 0) return;
  await closeEscalation(tx, domain.id, at);
  await tell(tx, domain.id, [{ type: step.event }], at);
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
