/** Stores the events of domains, in the transaction that causes them. */
import type { DomainEvent } from '../core/life/events.ts';
import type { Database } from './engine/client.ts';
import { createRunStatement } from './engine/statements.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** An event and its domain. */
export type NewEvent = DomainEvent & { readonly domainId: string };

/**
 * A stored event. `data`: its DomainEvent without `type`, in the format of the version that
 * recorded it.
 */
export type EventRow = {
  /** Per project: 1, 2, 3 …, in commit order. */
  readonly number: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
  readonly domain: { readonly hostname: string };
};

/** What Prisma selects for an EventRow. */
const eventColumns = {
  number: true,
  type: true,
  data: true,
  at: true,
  domain: { select: { hostname: true } },
} as const satisfies Prisma.EventSelect;

/**
 * Records events, and a delivery for every enabled webhook that takes the event's type. Call it at
 * the end of the transaction: it locks the project until the commit, to number its events. Pass
 * events of several projects in one call, which locks the projects in a fixed order. Does nothing
 * without events.
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

/** Adds the domain to a decision's events. */
export function about(domainId: string, events: readonly DomainEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, domainId }));
}

/** A domain's newest events first, at most `limit`. */
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

/** A page of a project's events, by number. */
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

/** For streams. All events up to a number from `lastNumbers` are committed; none is added later. */
export type EventFeedStore = {
  /** The newest event number of each project, 0 if there is none. Omits unknown projects. */
  lastNumbers(projectIds: readonly string[]): Promise<ReadonlyMap<string, bigint>>;
  /** In order of numbers, at most `limit`. */
  page(range: EventRange): Promise<EventRow[]>;
  /** Also finds removed domains; null if the project never had it. */
  findDomainId(projectId: string, hostname: string): Promise<string | null>;
};

const lastNumbers = {
  name: 'last_event_numbers',
  text: 'SELECT id::text AS id, last_event_number::text AS number FROM project WHERE id = ANY($1::uuid[])',
} as const;

/**
 * `lastNumbers` is a prepared statement, because every process with streams runs it twice a second
 * (src/events/feed.ts).
 */
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
