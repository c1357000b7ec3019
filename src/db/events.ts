/** The timeline: what happened to a domain, written in the transaction that makes it so. */
import type { CheckEvent } from '../core/check.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** Every type of event, with what its data holds. docs/lifecycle.md lists the same ones. */
export type DomainEvent =
  | CheckEvent
  | { readonly type: 'domain.added' | 'domain.removed' }
  | { readonly type: 'certificate.issued'; readonly issuer: string; readonly expiresAt: Date }
  | { readonly type: 'certificate.failed'; readonly problem: string; readonly detail: string }
  | { readonly type: 'escalation.opened'; readonly cause: string; readonly nextAction: string }
  | { readonly type: 'escalation.closed'; readonly cause: string };

export type EventRow = {
  readonly id: bigint;
  readonly type: string;
  readonly data: Prisma.JsonValue;
  readonly at: Date;
};

/** Writes events; call it inside the transaction of the change that they tell. */
export async function tell(
  tx: Prisma.TransactionClient,
  domainId: string,
  events: readonly DomainEvent[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  await tx.event.createMany({
    data: events.map(({ type, ...data }) => ({ domainId, type, data: toJson(data), at })),
  });
}

/** The newest events of a domain first, at most `limit`. */
export function loadTimeline(
  prisma: PrismaClient,
  domainId: string,
  limit: number,
): Promise<EventRow[]> {
  return prisma.event.findMany({
    where: { domainId },
    orderBy: { id: 'desc' },
    take: limit,
    select: { id: true, type: true, data: true, at: true },
  });
}

/** Dates become RFC 3339 text, as JSON has none. */
function toJson(data: object): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(data)) as Prisma.InputJsonObject; // what JSON.stringify wrote is JSON
}
