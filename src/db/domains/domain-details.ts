import type { Hsts } from '../../core/operations/edge-route.ts';
import type { Certificate, DomainRecord, Escalation } from '../../core/records.ts';
import type { Prisma } from '../generated/client.ts';

/** A domain with what its view shows. */
export type DomainDetails = DomainRecord & {
  /** Of the last full check. */
  readonly observation: { readonly value: unknown } | null;
  /** Null: the platform sets no header. */
  readonly hsts: Hsts | null;
  /** The open order, the newest issued one, and the newest refused or superseded one. */
  readonly certificates: readonly Certificate[];
  /** The open one, if any. */
  readonly escalations: readonly Escalation[];
};

const escalations = {
  // The enum's order: ordering, issued, failed.
  certificates: { orderBy: [{ status: 'asc' }, { createdAt: 'desc' }], distinct: ['status'] },
  escalations: { where: { closedAt: null } },
} as const satisfies Prisma.DomainInclude;
/** Not inside a transaction, which has only one connection. */
export const details = {
  ...escalations,
  observation: true,
  hsts: true,
} as const satisfies Prisma.DomainInclude;

/** One by one: Prisma queries relations concurrently, but a transaction has only one connection. */
export async function detailsIn(tx: Prisma.TransactionClient, id: string): Promise<DomainDetails> {
  const domain = await tx.domain.findUniqueOrThrow({ where: { id }, include: escalations });
  const observation = await tx.storedObservation.findUnique({ where: { domainId: id } });
  const hsts = await tx.hsts.findUnique({ where: { domainId: id } });
  return { ...domain, observation, hsts };
}
