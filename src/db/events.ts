/** The timeline: what happened to a domain, written in the transaction that makes it so. */
import type { DomainEvent } from '../core/life/events.ts';
import type { Database } from './engine/client.ts';
import { createRunStatement } from './engine/prepared.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** An event and the domain that it is about. */
export type NewEvent = DomainEvent & { readonly domainId: string };

export type EventRow = {
  /** Of its project: 1, 2, 3 …, in the order of their commits. */
  readonly number: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
  readonly domain: { readonly hostname: string };
};

export const eventColumns = {
  number: true,
  type: true,
  data: true,
  at: true,
  domain: { select: { hostname: true } },
} as const satisfies Prisma.EventSelect;

/**
 * Writes events; call it inside the transaction of the change that they tell, at its end: it takes the lock of the
 * project, which numbers them, until the commit. Events of several projects go into one call.
 */
export async function recordEvents(
  tx: Prisma.TransactionClient,
  events: readonly NewEvent[],
  at: Date,
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ domainId, type, ...data }) => ({
    domain_id: domainId,
    type,
    data,
    at,
  }));
  await tx.$executeRaw`SELECT record_events(${JSON.stringify(rows)}::jsonb)`;
}

/** The same events, said to be about this domain. */
export function about(domainId: string, events: readonly DomainEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, domainId }));
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
    select: eventColumns,
  });
}

/** Numbers between which a page of events lies. */
export type EventRange = {
  readonly projectId: string;
  /** Null: of every domain. */
  readonly domainId: string | null;
  readonly after: bigint;
  readonly upTo: bigint;
  readonly limit: number;
};

/** What streams read. Up to a number that `lastNumbers` told, every event is there for good. */
export type EventFeedStore = {
  /** The number of the newest event of each project, 0 where there is none yet. Unknown projects are left out. */
  lastNumbers(projectIds: readonly string[]): Promise<ReadonlyMap<string, bigint>>;
  /** In the order of their numbers. */
  page(range: EventRange): Promise<EventRow[]>;
  /** Also of a domain that was removed; null where the project never had it. */
  findDomainId(projectId: string, hostname: string): Promise<string | null>;
};

const lastNumbers = {
  name: 'last_event_numbers',
  text: 'SELECT id::text AS id, last_event_number::text AS number FROM project WHERE id = ANY($1::uuid[])',
} as const;

export function createEventFeedStore(database: Pick<Database, 'prisma' | 'pool'>): EventFeedStore {
  const { prisma } = database;
  const run = createRunStatement(database);
  return {
    async lastNumbers(projectIds) {
      const rows = await run<{ id: string; number: string }>(lastNumbers, [projectIds]);
      return new Map(rows.map(({ id, number }) => [id, BigInt(number)]));
    },
    page: ({ projectId, domainId, after, upTo, limit }) =>
      prisma.event.findMany({
        where: {
          projectId,
          number: { gt: after, lte: upTo },
          ...(domainId !== null && { domainId }),
        },
        orderBy: { number: 'asc' },
        take: limit,
        select: eventColumns,
      }),
    async findDomainId(projectId, hostname) {
      const found = await prisma.domain.findFirst({
        where: { projectId, hostname },
        select: { id: true },
      });
      return found?.id ?? null;
    },
  };
}
