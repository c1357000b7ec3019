import type { Access } from '../core/access.ts';
import type { DomainEvent } from '../core/life/events.ts';
import { ofVisibleProject } from './access.ts';
import type { Database } from './engine/client.ts';
import { createRunStatement } from './engine/statements.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';
import { type ListRange, type Page, pageOf } from './page.ts';

export type NewEvent = DomainEvent & { readonly domainId: string };

type StoredMetadata = { readonly value: unknown };

/** `data`: the DomainEvent without `type`, in the format of the version that recorded it. */
export type EventRow = {
  /** Per project: 1, 2, 3 …, in commit order. */
  readonly number: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly at: Date;
  /** A host name that is removed and added again gets a new ID. */
  readonly domainId: string;
  /** The domain's and the project's when it happened; null: in the copies that 0.2.0 made, or none. */
  readonly metadata: StoredMetadata | null;
  readonly projectMetadata: StoredMetadata | null;
  readonly metadataCopy: unknown;
  readonly projectMetadataCopy: unknown;
  readonly domain: { readonly hostname: string };
};

export const eventColumns = {
  number: true,
  type: true,
  data: true,
  at: true,
  domainId: true,
  metadata: { select: { value: true } },
  projectMetadata: { select: { value: true } },
  metadataCopy: true,
  projectMetadataCopy: true,
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

/**
 * Counts a requested check in the event of the one before, if the status has not changed since:
 * requests alone do not make the database grow. The caller holds the domain's lock.
 */
export async function countRepetition(
  tx: Prisma.TransactionClient,
  domainId: string,
  at: Date,
): Promise<boolean> {
  const count = await tx.$executeRaw`
    UPDATE recorded_event SET data = jsonb_build_object(
      'count', COALESCE((data ->> 'count')::integer, 1) + 1, 'lastAt', ${at.toISOString()}::text)
    WHERE type = 'domain.reverify_requested' AND id = (
      SELECT id FROM recorded_event WHERE domain_id = ${domainId}::uuid AND type LIKE 'domain.%'
        AND type NOT IN ('domain.findings_changed', 'domain.contested')
      ORDER BY id DESC LIMIT 1)`;
  return count > 0;
}

export function about(domainId: string, events: readonly DomainEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, domainId }));
}

/** Also of a domain that was removed and added again: each of its rows has an ID. */
export type TimelineQuery = ListRange<bigint> & { readonly domainIds: readonly string[] };

/** Newest first. Places are the database's IDs of events. */
export async function loadTimeline(
  prisma: PrismaClient,
  access: Access,
  { domainIds, after, limit }: TimelineQuery,
): Promise<Page<EventRow, bigint>> {
  const rows = await prisma.event.findMany({
    where: {
      domainId: { in: [...domainIds] },
      ...ofVisibleProject(access),
      ...(after !== null && { id: { lt: after } }),
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
    select: { ...eventColumns, id: true },
  });
  return pageOf(rows, limit, ({ id }) => id);
}

/** An attached domain keeps as many, whatever their age. */
const KEPT_PER_DOMAIN = 1_000;

export type PrunedRange = {
  /** An ID, exclusive. */
  readonly after: bigint;
  readonly limit: number;
};

/**
 * Deletes the events among the next `limit` that happened before a time. Returns the ID to continue
 * after, or null if what follows is younger. Keeps events with a delivery, and of an attached domain the
 * newest ones and what says that it holds its name (src/db/domains/transitions.ts).
 */
export function pruneEvents(
  prisma: PrismaClient,
  { after, limit }: PrunedRange,
  before: Date,
): Promise<bigint | null> {
  const time = before.toISOString();
  return prisma.$transaction(async (tx) => {
    const [read] = await tx.$queryRaw<{ last: bigint | null; ids: readonly bigint[] }[]>`
      WITH batch AS (
        SELECT id, domain_id, type, at FROM recorded_event WHERE id > ${after} ORDER BY id LIMIT ${limit}
      ), attached AS (
        SELECT id, (SELECT event.id FROM recorded_event AS event WHERE domain_id = domain.id
          ORDER BY event.id DESC OFFSET ${KEPT_PER_DOMAIN - 1} LIMIT 1) AS first_kept
        FROM domain WHERE removed_at IS NULL AND id IN (SELECT domain_id FROM batch)
      ), locked AS (
        SELECT id FROM recorded_event WHERE id IN (
          SELECT batch.id FROM batch LEFT JOIN attached ON attached.id = domain_id
          WHERE at < ${time}::timestamptz AND (attached.id IS NULL OR batch.id < first_kept AND NOT (
            type IN ('domain.verified', 'domain.failed') AND NOT EXISTS (
              SELECT FROM recorded_event AS later WHERE later.domain_id = batch.domain_id
                AND later.id > batch.id AND later.type = batch.type))))
        FOR UPDATE SKIP LOCKED
      )
      SELECT (SELECT CASE WHEN at < ${time}::timestamptz THEN id END
          FROM batch ORDER BY id DESC LIMIT 1) AS last,
        ARRAY (SELECT id FROM locked) AS ids`;
    if (read === undefined) return null;
    // A separate statement, to see the deliveries of a replay that committed before the lock.
    await tx.$executeRaw`
      DELETE FROM recorded_event AS event WHERE id = ANY (${read.ids}::bigint[])
        AND NOT EXISTS (SELECT FROM webhook_delivery WHERE event_id = event.id)`;
    return read.last;
  });
}

/**
 * Deletes the metadata among the next `limit` that no event has. Returns the ID to continue after, or null
 * at the end. Leaves out projects that record events at this moment, because these can use it again.
 */
export function pruneMetadata(
  prisma: PrismaClient,
  { after, limit }: PrunedRange,
): Promise<bigint | null> {
  const isUnused = Prisma.sql`
    NOT EXISTS (SELECT FROM recorded_event WHERE metadata_id = event_metadata.id)
    AND NOT EXISTS (SELECT FROM recorded_event WHERE project_metadata_id = event_metadata.id)`;
  return prisma.$transaction(async (tx) => {
    const [read] = await tx.$queryRaw<{ last: bigint | null; ids: readonly bigint[] }[]>`
      WITH batch AS (
        SELECT id FROM event_metadata WHERE id > ${after} ORDER BY id LIMIT ${limit}
      ), unused AS (
        SELECT id, project_id FROM event_metadata
        WHERE id IN (SELECT id FROM batch) AND ${isUnused}
      ), locked AS (
        SELECT id FROM project WHERE id IN (SELECT project_id FROM unused)
        FOR NO KEY UPDATE SKIP LOCKED
      )
      SELECT (SELECT max(id) FROM batch) AS last,
        ARRAY (SELECT unused.id FROM unused JOIN locked ON locked.id = project_id) AS ids`;
    if (read === undefined) return null;
    // A separate statement, to see the events that were recorded before the lock.
    await tx.$executeRaw`
      DELETE FROM event_metadata WHERE id = ANY (${read.ids}::bigint[]) AND ${isUnused}`;
    return read.last;
  });
}

/**
 * Of projects that were deleted before a time: deletes up to `limit` events with their deliveries, and
 * clears all metadata. True if there are no more events.
 */
export async function eraseProjects(
  prisma: PrismaClient,
  before: Date,
  limit: number,
): Promise<boolean> {
  const gone = Prisma.sql`deleted_at < ${before.toISOString()}::timestamptz`;
  await prisma.$executeRaw`UPDATE project SET metadata = '{}' WHERE ${gone} AND metadata <> '{}'`;
  await prisma.$executeRaw`
    UPDATE domain SET metadata = '{}' WHERE metadata <> '{}'
      AND project_id IN (SELECT id FROM project WHERE ${gone})`;
  const count = await prisma.$executeRaw`
    DELETE FROM recorded_event WHERE id IN (
      SELECT recorded.id FROM project CROSS JOIN LATERAL (
        SELECT id FROM recorded_event WHERE project_id = project.id
        ORDER BY number LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS recorded
      WHERE ${gone} LIMIT ${limit})`;
  return count < limit;
}

export type EventRange = {
  readonly projectId: string;
  /** Null: every domain's. */
  readonly hostname: string | null;
  /** Exclusive. */
  readonly after: bigint;
  /** Inclusive. */
  readonly upTo: bigint;
  readonly limit: number;
};

/** All events up to a number from `lastNumbers` are committed; none is added later. */
export type EventFeedStore = {
  /** The newest event number, 0 if there is none. Omits unknown and deleted projects. */
  lastNumbers(access: Access, projectIds: readonly string[]): Promise<ReadonlyMap<string, bigint>>;
  /** In order of numbers. */
  page(access: Access, range: EventRange): Promise<EventRow[]>;
  /** The attached one, otherwise the one that was added last. */
  findDomainId(access: Access, projectId: string, hostname: string): Promise<string | null>;
};

const lastNumbers = {
  name: 'last_event_numbers',
  text: `SELECT id::text AS id, last_event_number::text AS number FROM project
    WHERE id = ANY($1::uuid[]) AND deleted_at IS NULL
      AND ($2::uuid IS NULL OR account_id = $2) AND ($3::uuid[] IS NULL OR id = ANY($3))`,
} as const;

/** Prepared, because every process with streams runs it twice a second (src/events/feed.ts). */
export function createEventFeedStore(database: Pick<Database, 'prisma' | 'pool'>): EventFeedStore {
  const { prisma } = database;
  const run = createRunStatement(database);
  return {
    async lastNumbers(access, projectIds) {
      const { accountId, projectIds: only } =
        access.kind === 'account' ? access : { accountId: null, projectIds: null };
      const values = [projectIds, accountId, only];
      const rows = await run<{ id: string; number: string }>(lastNumbers, values);
      return new Map(rows.map(({ id, number }) => [id, BigInt(number)]));
    },
    page: (access, { projectId, hostname, after, upTo, limit }) =>
      prisma.event.findMany({
        where: {
          projectId,
          ...ofVisibleProject(access),
          number: { gt: after, lte: upTo },
          ...(hostname !== null && { domain: { hostname } }),
        },
        orderBy: { number: 'asc' },
        take: limit,
        select: eventColumns,
      }),
    async findDomainId(access, projectId, hostname) {
      const found = await prisma.domain.findFirst({
        where: { projectId, hostname, ...ofVisibleProject(access) },
        orderBy: [{ removedAt: { sort: 'desc', nulls: 'first' } }, { addedAt: 'desc' }],
        select: { id: true },
      });
      return found?.id ?? null;
    },
  };
}
