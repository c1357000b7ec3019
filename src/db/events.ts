/** The timeline: what happened to a domain, written in the transaction that makes it so. */
import type { GrantedDomainId, GrantedProjectId } from '../core/accounts/access.ts';
import type { DomainEvent } from '../core/life/events.ts';
import type { Database } from './engine/client.ts';
import { createRunStatement } from './engine/statements.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** An event and the domain that it is about. */
export type NewEvent = DomainEvent & { readonly domainId: string };

/** An event as it is stored. `data` is its DomainEvent without `type`, as the version that recorded it had it. */
export type EventRow = {
  /** Of its project: 1, 2, 3 …, in the order of their commits. */
  readonly number: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
  readonly domain: { readonly hostname: string };
};

/** What Prisma selects for an EventRow. */
export const eventColumns = {
  number: true,
  type: true,
  data: true,
  at: true,
  domain: { select: { hostname: true } },
} as const satisfies Prisma.EventSelect;

/**
 * Records events, and a delivery of each for every enabled webhook that takes its type. Call it at the end of the
 * transaction that makes the change: it locks the project, which numbers its events, until the commit. Events of several
 * projects go into one call, which locks their projects in one order. Does nothing for no events.
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

/** The events of a decision, with the domain that they are about. */
export function about(domainId: string, events: readonly DomainEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, domainId }));
}

/** The newest events of a domain first, at most `limit`. */
export function loadTimeline(
  prisma: PrismaClient,
  domainId: GrantedDomainId,
  limit: number,
): Promise<EventRow[]> {
  return prisma.event.findMany({
    where: { domainId },
    orderBy: { id: 'desc' },
    take: limit,
    select: eventColumns,
  });
}

/** A page of a project's events, by their numbers. */
export type EventRange = {
  readonly projectId: GrantedProjectId;
  /** Null: of every domain. */
  readonly domainId: GrantedDomainId | null;
  /** Exclusive. */
  readonly after: bigint;
  /** Inclusive. */
  readonly upTo: bigint;
  readonly limit: number;
};

/** What streams read. Up to a number that `lastNumbers` returned every event is committed, and none is added later. */
export type EventFeedStore = {
  /** The number of the newest event of each project, 0 where there is none yet. Unknown projects are left out. */
  lastNumbers(
    projectIds: readonly GrantedProjectId[],
  ): Promise<ReadonlyMap<GrantedProjectId, bigint>>;
  /** In the order of their numbers, `limit` at most. */
  page(range: EventRange): Promise<EventRow[]>;
  /** Also of a domain that was removed; null where the project never had it. */
  findDomainId(projectId: GrantedProjectId, hostname: string): Promise<GrantedDomainId | null>;
};

const lastNumbers = {
  name: 'last_event_numbers',
  text: 'SELECT id::text AS id, last_event_number::text AS number FROM project WHERE id = ANY($1::uuid[])',
} as const;

/** `lastNumbers` is a prepared statement, because every process with streams runs it twice a second (src/events/feed.ts). */
export function createEventFeedStore(database: Pick<Database, 'prisma' | 'pool'>): EventFeedStore {
  const { prisma } = database;
  const run = createRunStatement(database);
  return {
    async lastNumbers(projectIds) {
      const rows = await run<{ id: GrantedProjectId; number: string }>(lastNumbers, [projectIds]);
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
      return found === null ? null : (found.id as GrantedDomainId);
    },
  };
}
