/** What an account has of what its limits count, and making more of it within them. */
import type { LimitReached } from '../core/accounts/limit-words.ts';
import { type AccountLimits, limitsOf } from '../core/accounts/limits.ts';
import { HOUR } from '../core/time.ts';
import { lockAccount } from './accounts.ts';
import { type Tx, transact } from './engine/transaction.ts';
import type { PrismaClient } from './generated/client.ts';

/** The limits whose counts are the database's. */
export type StoredLimit = 'domains' | 'additionsPerHour' | 'projects' | 'keys' | 'webhooks';

/** `full`: nothing was made, as nothing was in an account that is closed. */
export type Made<T> =
  | { readonly kind: 'made'; readonly made: T }
  | { readonly kind: 'closed' }
  | { readonly kind: 'full'; readonly reached: LimitReached };

/**
 * Runs `make` in one transaction with the counts that allow it: of several that come at once none exceeds a limit. `counted`
 * are the limits that one more counts for, the first one that is reached is given. Rejects with the faults of `make`, which
 * undo everything.
 */
export type WithinLimits = <T>(
  accountId: string,
  counted: readonly StoredLimit[],
  at: Date,
  make: () => Promise<T>,
) => Promise<Made<T>>;

/** `configured`: what holds for accounts without limits of their own. `prisma` is of `joinTransactions`. */
export function createWithinLimits(prisma: PrismaClient, configured: AccountLimits): WithinLimits {
  return async (accountId, counted, at, make) => {
    const asked = { accountId, counted, configured, at };
    const within = (mode: LockMode) =>
      transact(prisma, async () => {
        const refused = await enter(prisma, asked, mode);
        return refused ?? ({ kind: 'made', made: await make() } as const);
      });
    const mode = await likelyMode(prisma, asked);
    try {
      return await within(mode);
    } catch (fault) {
      if (fault !== countsNow) throw fault;
      return within('exclusive');
    }
  };
}

type Asked = {
  readonly accountId: string;
  readonly counted: readonly StoredLimit[];
  readonly configured: AccountLimits;
  readonly at: Date;
};
type LockMode = NonNullable<Parameters<typeof lockAccount>[2]>;

/**
 * Thrown to undo a shared lock under which there is something to count: two who hold one and want it alone would wait for
 * each other.
 */
const countsNow = new Error('undone: the account has a limit by now');

/** By what the limits are before the lock: who has none waits for nobody. Under the lock they may be others. */
async function likelyMode(tx: Tx, { accountId: id, counted, configured }: Asked) {
  const found = await tx.account.findUnique({ where: { id }, select: { limits: true } });
  return finiteOf(limitsOf(found?.limits, configured), counted).length === 0
    ? 'shared'
    : 'exclusive';
}

function finiteOf(limits: AccountLimits, counted: readonly StoredLimit[]): readonly StoredLimit[] {
  return counted.filter((limit) => limits[limit] !== null);
}

/** Null where there is room, which stays until the transaction ends. */
async function enter(
  tx: Tx,
  { accountId, counted, configured, at }: Asked,
  mode: LockMode,
): Promise<Exclude<Made<never>, { readonly kind: 'made' }> | null> {
  const held = await lockAccount(tx, accountId, mode);
  if (held === null) return { kind: 'closed' };
  const limits = limitsOf(held.limits, configured);
  const finite = finiteOf(limits, counted);
  if (mode === 'shared' && finite.length > 0) throw countsNow;
  for (const limit of finite) {
    const reached = await reachedIn(tx, { accountId, limits, at }, limit);
    if (reached !== null) return { kind: 'full', reached };
  }
  return null;
}

async function reachedIn(
  tx: Tx,
  { accountId, limits, at }: Pick<Asked, 'accountId' | 'at'> & { readonly limits: AccountLimits },
  limit: StoredLimit,
): Promise<LimitReached | null> {
  const most = limits[limit];
  if (most === null) return null;
  const used = await counts[limit](tx, accountId, at);
  if (used < most) return null;
  const until = limit === 'additionsPerHour' ? await nextAddition(tx, accountId, most, at) : null;
  return { limit, used, most, until };
}

/** How much an account has of each now; of `additionsPerHour`, how many there were in the hour before `at`. */
export async function countStored(
  prisma: PrismaClient,
  accountId: string,
  at: Date,
): Promise<Readonly<Record<StoredLimit, number>>> {
  const names = Object.keys(counts) as StoredLimit[];
  const each = await Promise.all(names.map((name) => counts[name](prisma, accountId, at)));
  return Object.fromEntries(names.map((name, place) => [name, each[place]])) as Record<
    StoredLimit,
    number
  >;
}

/**
 * When an account may add the next domain: once the oldest of its last `most` additions is an hour old. Null where that is
 * now; an hour from now where it may add none.
 */
export async function nextAddition(
  tx: Tx,
  accountId: string,
  most: number,
  at: Date,
): Promise<Date | null> {
  if (most === 0) return new Date(at.getTime() + HOUR);
  const rows = await tx.$queryRaw<{ at: Date }[]>`
    SELECT event.at FROM project JOIN event ON event.project_id = project.id
    WHERE project.account_id = ${accountId}::uuid AND event.type = 'domain.added'
      AND event.at > ${new Date(at.getTime() - HOUR)}
    ORDER BY event.at DESC OFFSET ${most - 1} LIMIT 1`;
  const [oldest] = rows;
  return oldest === undefined ? null : new Date(oldest.at.getTime() + HOUR);
}

type Count = (tx: Tx, accountId: string, at: Date) => Promise<number>;

const counts: Readonly<Record<StoredLimit, Count>> = {
  domains: (tx, accountId) =>
    tx.domain.count({ where: { removedAt: null, project: { accountId } } }),
  // By what happened, as a name that was removed and added again was added twice.
  async additionsPerHour(tx, accountId, at) {
    const [row] = await tx.$queryRaw<{ used: number }[]>`
      SELECT count(*)::int AS used FROM project JOIN event ON event.project_id = project.id
      WHERE project.account_id = ${accountId}::uuid AND event.type = 'domain.added'
        AND event.at > ${new Date(at.getTime() - HOUR)}`;
    return row?.used ?? 0;
  },
  projects: (tx, accountId) => tx.project.count({ where: { accountId } }),
  keys: (tx, accountId, at) =>
    tx.apiKey.count({
      where: { accountId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] },
    }),
  webhooks: (tx, accountId) =>
    tx.webhook.count({ where: { deletedAt: null, project: { accountId } } }),
};
