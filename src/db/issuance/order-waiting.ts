/** Projects whose orders wait for a CA's rate limit. It only decides how much others can take. */
import {
  type Bucket,
  isShare,
  partsOfKey,
  type ShareLimit,
} from '../../core/certificates/budget.ts';
import { noneWaiting, type OthersWaiting } from '../../core/certificates/budget-wait.ts';
import type { PrismaClient } from '../generated/client.ts';

type Waiting = {
  /** Its directory. */
  readonly authority: string;
  readonly projectId: string;
  readonly until: Date;
};

/** Keeps the later of two times. Does nothing for a deleted project. */
export async function noteWaiting(
  prisma: PrismaClient,
  { authority, projectId, until }: Waiting,
): Promise<void> {
  await prisma.$executeRaw`
    INSERT INTO order_waiting AS w (authority, project_id, until)
    SELECT ${authority}, id, ${until}::timestamptz FROM project WHERE id = ${projectId}::uuid
    ON CONFLICT (authority, project_id) DO UPDATE SET until = excluded.until
    WHERE w.until < excluded.until`;
}

type Row = { readonly limit: ShareLimit; readonly until: Date; readonly fullAt: Date };

/** Other accounts, and other projects of the same account. `buckets`: of one order, at one CA. */
export async function findOthersWaiting(
  prisma: Pick<PrismaClient, '$queryRaw'>,
  buckets: readonly Bucket[],
  now: Date,
): Promise<OthersWaiting> {
  const shares = buckets.filter(({ limit }) => isShare(limit));
  const [authority = ''] = shares.map((bucket) => partsOfKey(bucket).authority);
  const account = shares.find(({ limit }) => limit === 'account_share');
  const rows = await prisma.$queryRaw<Row[]>`
    WITH waiting AS (
      SELECT kind, 'account_share ' || authority || ' ' || account_id AS of, kind || ' ' || authority || ' ' ||
        CASE kind WHEN 'account_share' THEN account_id ELSE project_id END AS key, until
      FROM order_waiting JOIN project ON project.id = project_id,
        (VALUES ('account_share'), ('project_share')) AS kinds (kind)
      WHERE authority = ${authority} AND until > ${now}::timestamptz)
    SELECT kind AS limit, max(until) AS until,
      min(greatest(coalesce(full_at, ${now}::timestamptz), ${now}::timestamptz)) AS "fullAt"
    FROM waiting LEFT JOIN authority_budget USING (key)
    WHERE key <> ALL (${shares.map(({ key }) => key)})
      AND (kind = 'account_share' OR of = ${account?.key ?? ''}) GROUP BY kind`;
  const found = rows.map(({ limit, until, fullAt }) => [limit, { until, fullAt }]);
  return { ...noneWaiting, ...Object.fromEntries(found) };
}

/** Skips rows that others write. */
export async function dropPastWaiting(prisma: PrismaClient, now: Date): Promise<void> {
  await prisma.$executeRaw`
    DELETE FROM order_waiting WHERE (authority, project_id) IN (
      SELECT authority, project_id FROM order_waiting
      WHERE until < ${now}::timestamptz FOR UPDATE SKIP LOCKED)`;
}
