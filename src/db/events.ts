import type { DomainEvent } from '../core/life/events.ts';
import type { Database } from './engine/client.ts';
import { createRunStatement } from './engine/statements.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

export type NewEvent = DomainEvent & { readonly domainId: string };

/** `data`: the DomainEvent without `type`, in the format of the version that recorded it. */
export type EventRow = {
  /** Per project: 1, 2, 3 …, in commit order. */
  readonly number: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
  readonly domain: { readonly hostname: string };
};

const eventColumns = {
  number: true,
  type: true,
  data: true,
  at: true,
  domain: { select: { hostname: true } },
} as const satisfies Prisma.EventSelect;

/**
 * Also creates deliveries. Call it at the end of the transaction: it locks the project until the
 * commit, to number events. Pass events of several projects in one call, which locks in a fixed
 * order.
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

export function about(domainId: string, events: readonly DomainEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, domainId }));
}

/** Newest first. */
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

export type EventRange = {
  readonly projectId: string;
  /** Null: every domain's. */
  readonly domainId: string | null;
  /** Exclusive. */
  readonly after: bigint;
  /** Inclusive. */
  readonly upTo: bigint;
  readonly limit: number;
};

/** All events up to a number from `lastNumbers` are committed; none is added later. */
export type EventFeedStore = {
  /** The newest event number, 0 if there is none. Omits unknown projects. */
  lastNumbers(projectIds: readonly string[]): Promise<ReadonlyMap<string, bigint>>;
  /** In order of numbers. */
  page(range: EventRange): Promise<EventRow[]>;
  /** Also finds removed domains. */
  findDomainId(projectId: string, hostname: string): Promise<string | null>;
};

const lastNumbers = {
  name: 'last_event_numbers',
  text: 'SELECT id::text AS id, last_event_number::text AS number FROM project WHERE id = ANY($1::uuid[])',
} as const;

/** Prepared, because every process with streams runs it twice a second (src/events/feed.ts). */
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
