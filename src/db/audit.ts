/** The audit log's rows. An entry of what happens in the database is written in the transaction of its effect. */
import { randomUUID } from 'node:crypto';
import type { Access } from '../core/accounts/access.ts';
import {
  type AuditEntry,
  type AuditOutcome,
  type Doer,
  type Subject,
  withoutOperator,
} from '../core/operations/audit.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** An entry to be stored. `object` without an id: nobody knows whether there is such a one; it has an account then. */
export type NewAuditEntry = Doer & {
  readonly at: Date;
  readonly operationId: string;
  readonly object:
    | Subject
    | { readonly kind: Subject['kind']; readonly id: null; readonly accountId: string | null };
  readonly outcome: AuditOutcome;
  readonly code: string | null;
};

/** Where an entry stands in the order of the log, which is also how it is found again. */
export type AuditPlace = Pick<AuditEntry, 'at' | 'id'>;

/** A page of the log; null: not restricted by that. `after` null: from the newest. */
export type AuditQuery = {
  readonly keyId: string | null;
  /** A UUID. */
  readonly projectId: string | null;
  readonly operationId: string | null;
  /** From this time on. */
  readonly from: Date | null;
  /** Before this time. */
  readonly to: Date | null;
  readonly after: AuditPlace | null;
  readonly limit: number;
  /** Whether who of the installation did something stays unsaid: for accounts, which see only that it was the installation. */
  readonly hidesOperators: boolean;
};

/** Entries are never changed, but for an outcome that was `unknown`. */
export type AuditStore = {
  /** Joins the transaction of its caller. */
  record(entry: NewAuditEntry): Promise<AuditPlace>;
  /** Says how something ended that was recorded as `unknown` before it began. */
  settle(place: AuditPlace, outcome: AuditOutcome, code: string | null): Promise<void>;
  /** What the access reaches, the newest first, `limit` at most. */
  list(access: Access, query: AuditQuery): Promise<AuditEntry[]>;
  /** Deletes at most `limit` of those before a time, the oldest first, and returns how many there were. */
  prune(before: Date, limit: number): Promise<number>;
};

/** Every call is one statement. */
export function createAuditStore(prisma: PrismaClient): AuditStore {
  return {
    record: (entry) => record(prisma, entry),
    async settle(place, outcome, code) {
      const where = { ...place, outcome: 'unknown' } as const;
      await prisma.auditEntry.updateMany({ where, data: { outcome, code } });
    },
    async list(access, query) {
      const found = await prisma.auditEntry.findMany({
        where: { AND: [entriesWithin(access), filterOf(query), pageAfter(query.after)] },
        orderBy: [{ at: 'desc' }, { id: 'desc' }],
        take: query.limit,
      });
      return query.hidesOperators ? found.map(withoutOperator) : found;
    },
    prune: (before, limit) =>
      prisma.$executeRaw`
        DELETE FROM audit_entry WHERE (at, id) IN (
          SELECT at, id FROM audit_entry WHERE at < ${before.toISOString()}::timestamptz
          ORDER BY at, id LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  };
}

/** The account of a project's object is read from the project, so that the two cannot disagree. */
async function record(prisma: PrismaClient, entry: NewAuditEntry): Promise<AuditPlace> {
  const { at, object, operationId, keyId, sessionId, byInstallation } = entry;
  const id = randomUUID();
  const projectId = 'projectId' in object ? object.projectId : null;
  const accountId = 'accountId' in object ? object.accountId : null;
  await prisma.$executeRaw`
    INSERT INTO audit_entry (id, at, key_id, session_id, by_installation, account_id, project_id,
      operation_id, object_kind, object_id, outcome, code, address, user_agent, request_id)
    VALUES (${id}::uuid, ${at.toISOString()}::timestamptz, ${keyId}, ${sessionId}, ${byInstallation},
      COALESCE(${accountId}::uuid, (SELECT account_id FROM project WHERE id = ${projectId}::uuid)),
      ${projectId}::uuid, ${operationId}, ${object.kind}, ${object.id},
      ${entry.outcome}::audit_outcome, ${entry.code}, ${entry.address}, ${entry.userAgent}, ${entry.requestId})`;
  return { at, id };
}

/** What restricts a query to the entries that an access reaches. */
function entriesWithin(access: Access): Prisma.AuditEntryWhereInput {
  if (access.kind === 'installation') return {};
  const { accountId, projectIds } = access;
  return { accountId, ...(projectIds !== null && { projectId: { in: [...projectIds] } }) };
}

/** A key of the installation is none that an account could ask for: the answer would say what `hidesOperators` hides. */
function filterOf(query: AuditQuery): Prisma.AuditEntryWhereInput {
  const { keyId, projectId, operationId, from, to, hidesOperators } = query;
  return {
    ...(keyId !== null && { keyId, ...(hidesOperators && { byInstallation: false }) }),
    ...(projectId !== null && { projectId }),
    ...(operationId !== null && { operationId }),
    ...((from !== null || to !== null) && {
      at: { ...(from !== null && { gte: from }), ...(to !== null && { lt: to }) },
    }),
  };
}

/** Says twice that the time is not later: an index finds its place by the first, as it cannot by an OR. */
function pageAfter(place: AuditPlace | null): Prisma.AuditEntryWhereInput {
  if (place === null) return {};
  const { at, id } = place;
  return { at: { lte: at }, OR: [{ at: { lt: at } }, { at, id: { lt: id } }] };
}
