/** Who did what. Entries are written in the transaction of the change; only their age deletes them. */
import type { Access } from '../core/access.ts';
import { DAY, HOUR } from '../core/time.ts';
import { type AuditEntry, Prisma, type PrismaClient } from './generated/client.ts';
import { type ListRange, type Page, pageOf, when } from './page.ts';

export type NewAuditEntry = Pick<AuditEntry, 'operation' | 'object' | 'at'> &
  Partial<
    Pick<
      AuditEntry,
      | 'fields'
      | 'sessionId'
      | 'accountId'
      | 'projectId'
      | 'address'
      | 'requestId'
      | 'status'
      | 'code'
    >
  > & {
    /** Null: the process itself. */
    readonly keyId: string | null;
    /** The key that was changed. Without `accountId` and `projectId`, the entry is of its account. */
    readonly ofKeyId?: string | undefined;
  };

export const AUDIT_KEPT_MS = 400 * DAY;

/** `keyAccountId`: null for a key of the installation. */
export type ShownAuditEntry = AuditEntry & {
  readonly keyName: string | null;
  readonly keyAccountId: string | null;
};

/** An undefined filter matches every entry. */
type AuditFilters = {
  readonly projectId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly operation?: string | undefined;
  readonly object?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
};

export type AuditStore = {
  /** The same by the same actor within an hour is counted in one entry, whose ID it is. */
  record(entry: NewAuditEntry): Promise<bigint>;
  /** Of an operation that committed in several transactions; recorded without a status. */
  finish(id: bigint, status: number): Promise<void>;
  /** The operation changed nothing. */
  withdraw(id: bigint): Promise<void>;
  /** Newest first. An account sees what was done in it. */
  list(
    access: Access,
    filters: AuditFilters,
    page: ListRange<bigint>,
  ): Promise<Page<ShownAuditEntry, bigint>>;
  /** Deletes up to `limit` entries; resolves with their number. */
  prune(before: Date, limit: number): Promise<number>;
};

/** Each call is one statement, which joins the caller's transaction. */
export function createAuditStore(prisma: PrismaClient): AuditStore {
  return {
    async record(entry) {
      const [row] = await prisma.$queryRaw<{ id: bigint }[]>(recording(entry));
      if (row === undefined) throw new Error('the audit log returned no entry');
      return row.id;
    },
    async finish(id, status) {
      await prisma.auditEntry.updateMany({ where: { id }, data: { status } });
    },
    async withdraw(id) {
      await prisma.auditEntry.deleteMany({ where: { id } });
    },
    async list(access, filters, { after, limit }) {
      const conditions = [
        ...visible(access),
        ...filtered(filters),
        // An account must not find out what one of the operators' keys did.
        ...(access.kind === 'account' && filters.keyId !== undefined
          ? [Prisma.sql`api_key.account_id IS NOT NULL`]
          : []),
        ...when(after ?? undefined, (id) => Prisma.sql`entry.id < ${id}`),
      ];
      const rows = await prisma.$queryRaw<ShownAuditEntry[]>`
        SELECT entry.id, operation, object, fields, key_id AS "keyId", api_key.name AS "keyName",
          api_key.account_id::text AS "keyAccountId", session_id::text AS "sessionId", entry.account_id::text AS "accountId",
          project_id::text AS "projectId", address, request_id AS "requestId", status, code, count,
          at, last_at AS "lastAt"
        FROM audit_entry AS entry LEFT JOIN api_key ON api_key.id = entry.key_id
        WHERE ${conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ')}
        ORDER BY entry.id DESC LIMIT ${limit + 1}`;
      return pageOf(rows, limit, ({ id }) => id);
    },
    // IDs follow time, so the oldest come first.
    prune: (before, limit) => prisma.$executeRaw`
      DELETE FROM audit_entry WHERE id IN (
        SELECT id FROM (SELECT id, last_at FROM audit_entry ORDER BY id LIMIT ${limit}) AS oldest
        WHERE last_at < ${before.toISOString()}::timestamptz)`,
  };
}

const REPEATED_MS = HOUR;

function recording(entry: NewAuditEntry): Prisma.Sql {
  const { operation, object, keyId, ofKeyId = null, fields = [] } = entry;
  const { sessionId = null, accountId = null, projectId = null } = entry;
  const { address = null, requestId = null, status = null, code = null } = entry;
  const at = entry.at.toISOString();
  const since = new Date(entry.at.getTime() - REPEATED_MS).toISOString();
  return Prisma.sql`
    WITH repeated AS (
      UPDATE audit_entry SET count = count + 1, last_at = ${at}::timestamptz WHERE id = (
        SELECT id FROM audit_entry WHERE object = ${object} AND operation = ${operation}
          AND at > ${since}::timestamptz AND status = ${status}::integer AND fields = ${fields}::text[]
          AND (key_id, session_id, address, code) IS NOT DISTINCT FROM
            (${keyId}::text, ${sessionId}::uuid, ${address}::text, ${code}::text)
        ORDER BY id DESC LIMIT 1)
      RETURNING id
    ), added AS (
      INSERT INTO audit_entry (operation, object, fields, key_id, session_id, account_id, project_id,
        address, request_id, status, code, at, last_at)
      SELECT ${operation}, ${object}, ${fields}::text[], ${keyId}, ${sessionId}::uuid,
        COALESCE(${accountId}::uuid,
          (SELECT account_id FROM project WHERE id = ${projectId}::uuid),
          (SELECT account_id FROM api_key WHERE id = ${ofKeyId})),
        ${projectId}::uuid, ${address}, ${requestId}, ${status}::integer, ${code},
        ${at}::timestamptz, ${at}::timestamptz
      WHERE NOT EXISTS (SELECT 1 FROM repeated)
      RETURNING id
    )
    SELECT id FROM repeated UNION ALL SELECT id FROM added`;
}

/** By the account at that time: a project that moves takes no entries along. */
function visible(access: Access): readonly Prisma.Sql[] {
  if (access.kind === 'installation') return [];
  const { accountId, projectIds } = access;
  const ofAccount = Prisma.sql`entry.account_id = ${accountId}::uuid`;
  return projectIds === null
    ? [ofAccount]
    : [ofAccount, Prisma.sql`project_id = ANY (${[...projectIds]}::uuid[])`];
}

function filtered(filters: AuditFilters): readonly Prisma.Sql[] {
  const { projectId, keyId, operation, object, since, until } = filters;
  return [
    ...when(projectId, (id) => Prisma.sql`project_id = ${id}::uuid`),
    ...when(keyId, (id) => Prisma.sql`key_id = ${id}`),
    ...when(operation, (name) => Prisma.sql`operation = ${name}`),
    ...when(object, (path) => Prisma.sql`object = ${path}`),
    ...when(since, (at) => Prisma.sql`last_at >= ${at.toISOString()}::timestamptz`),
    ...when(until, (at) => Prisma.sql`at < ${at.toISOString()}::timestamptz`),
  ];
}
