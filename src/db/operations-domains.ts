/** Domains of every project, as an operator finds them; removed ones, too. */
import type { DomainStatus } from '../core/lifecycle.ts';
import { type DomainDetails, details } from './domains.ts';
import type { Prisma, PrismaClient, Quarantine } from './generated/client.ts';
import type { Sweep } from './sweeps.ts';

export type FoundDomain = {
  readonly id: string;
  readonly hostname: string;
  readonly status: DomainStatus;
  readonly removedAt: Date | null;
  readonly projectId: string;
  readonly projectName: string;
};

export type WatchedDomain = DomainDetails & { readonly project: { readonly name: string } };

/**
 * Those whose host name has this part, the one that is exactly this first, then those that are attached. Reads the host
 * name of every domain: no index knows parts of names.
 */
export function searchDomains(
  prisma: PrismaClient,
  part: string,
  limit: number,
): Promise<FoundDomain[]> {
  return prisma.$queryRaw`
    SELECT domain.id::text, hostname, domain.status::text, removed_at AS "removedAt",
      project_id::text AS "projectId", name AS "projectName"
    FROM domain JOIN project ON project.id = project_id
    WHERE position(${part} IN hostname) > 0
    ORDER BY hostname = ${part} DESC, removed_at IS NULL DESC, hostname, domain.id LIMIT ${limit}`;
}

/** Also a removed one, as it was; null for an id of none. */
export function findWatchedDomain(prisma: PrismaClient, id: string): Promise<WatchedDomain | null> {
  return prisma.domain.findUnique({
    where: { id },
    include: { ...details, project: { select: { name: true } } },
  });
}

/** What of a domain was ever set aside and has not gone well since. */
export function loadNotes(prisma: PrismaClient, domainId: string): Promise<Quarantine[]> {
  return prisma.quarantine.findMany({ where: { domainId }, orderBy: { queue: 'asc' } });
}

const columns = {
  'recheck-live': 'recheckAt',
  'renew-certificate': 'renewAt',
  'escalate-renewals': 'escalateAt',
  'ask-renewals': 'renewalInfoAt',
} as const satisfies Readonly<Record<Sweep, keyof Prisma.DomainUpdateInput>>;

const served = ['live', 'drifted'] as const;
const statuses = {
  'recheck-live': [...served, 'failed'],
  'renew-certificate': ['live'],
  'escalate-renewals': served,
  'ask-renewals': ['live'],
} as const satisfies Readonly<Record<Sweep, readonly DomainStatus[]>>;

/** When a sweep takes the domain; null where it does not. */
export function dueForSweep(
  domain: Pick<DomainDetails, 'status' | 'removedAt' | (typeof columns)[Sweep]>,
  sweep: Sweep,
): Date | null {
  const takes: readonly DomainStatus[] = statuses[sweep];
  return domain.removedAt === null && takes.includes(domain.status) ? domain[columns[sweep]] : null;
}

/** Has a sweep take the domain in its next turn, also where it was set aside. */
export async function bringToSweep(
  prisma: PrismaClient,
  { id, epoch }: Pick<DomainDetails, 'id' | 'epoch'>,
  sweep: Sweep,
  at: Date,
): Promise<void> {
  await prisma.domain.updateMany({
    where: { id, epoch, removedAt: null, status: { in: [...statuses[sweep]] } },
    data: { [columns[sweep]]: at },
  });
  await prisma.quarantine.updateMany({
    where: { queue: sweep, jobId: id, until: { gt: at } },
    data: { until: at },
  });
}
