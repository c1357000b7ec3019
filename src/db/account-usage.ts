import { type Access, asAccount } from '../core/access.ts';
import type { CountedLimit } from '../core/operations/account-limits.ts';
import { HOUR } from '../core/time.ts';
import { Prisma, type PrismaClient } from './generated/client.ts';

/** `retryAt`: when one more fits; null: after something is removed. */
export type ReachedLimit = {
  readonly name: CountedLimit;
  readonly limit: number;
  readonly retryAt: Date | null;
};

/** Ended and rotated keys, removed domains and deleted projects do not count. */
export async function countUsage(
  prisma: PrismaClient,
  access: Access,
  account: string,
  at: Date,
): Promise<Readonly<Record<CountedLimit, number>>> {
  const accountId = asAccount(access, account);
  const [row] = await prisma.$queryRaw<Record<CountedLimit, number>[]>`
    SELECT (${counts.domains(accountId, at)})::int AS domains,
      (${counts.domainsPerHour(accountId, at)})::int AS "domainsPerHour",
      (${counts.projects(accountId, at)})::int AS projects,
      (${counts.keys(accountId, at)})::int AS keys,
      (${counts.webhooks(accountId, at)})::int AS webhooks`;
  if (row === undefined) throw new Error('a query without FROM has one row');
  return row;
}

/**
 * Null if one more fits. Call it in the transaction that adds: until its end, other
 * additions to the account wait.
 */
export async function findReached(
  prisma: PrismaClient,
  access: Access,
  account: string,
  limits: readonly (readonly [CountedLimit, number])[],
  at: Date,
): Promise<ReachedLimit | null> {
  const accountId = asAccount(access, account);
  await prisma.$executeRaw`SELECT pg_advisory_xact_lock(hashtext(${`account ${accountId}`}))`;
  for (const [name, limit] of limits) {
    const [row] = await prisma.$queryRaw<{ count: number }[]>`
      SELECT (${counts[name](accountId, at)})::int AS count`;
    if ((row?.count ?? 0) < limit) continue;
    const retryAt = name === 'domainsPerHour' ? await nextAddition(prisma, accountId, limit) : null;
    return { name, limit, retryAt };
  }
  return null;
}

type Count = (accountId: string, at: Date) => Prisma.Sql;

const ofAccount = (accountId: string) =>
  Prisma.sql`project_id IN (SELECT id FROM project WHERE account_id = ${accountId}::uuid)`;

const counts: Readonly<Record<CountedLimit, Count>> = {
  domains: (id) =>
    Prisma.sql`SELECT count(*) FROM domain WHERE removed_at IS NULL AND ${ofAccount(id)}`,
  domainsPerHour: (id, at) => Prisma.sql`
    SELECT count(*) FROM domain
    WHERE added_at > ${hourBefore(at)}::timestamptz AND ${ofAccount(id)}`,
  projects: (id) => Prisma.sql`
    SELECT count(*) FROM project WHERE account_id = ${id}::uuid AND deleted_at IS NULL`,
  keys: (id, at) => Prisma.sql`
    SELECT count(*) FROM api_key WHERE account_id = ${id}::uuid AND revoked_at IS NULL
      AND successor_id IS NULL AND (expires_at IS NULL OR expires_at > ${at.toISOString()}::timestamptz)`,
  webhooks: (id) =>
    Prisma.sql`SELECT count(*) FROM webhook WHERE deleted_at IS NULL AND ${ofAccount(id)}`,
};

function hourBefore(at: Date): string {
  return new Date(at.getTime() - HOUR).toISOString();
}

/** An hour after the `limit`-th newest addition. */
async function nextAddition(
  prisma: PrismaClient,
  accountId: string,
  limit: number,
): Promise<Date | null> {
  const [row] = await prisma.$queryRaw<{ at: Date }[]>`
    SELECT added_at AS at FROM domain WHERE ${ofAccount(accountId)}
    ORDER BY added_at DESC LIMIT 1 OFFSET ${limit - 1}`;
  return row === undefined ? null : new Date(row.at.getTime() + HOUR);
}
