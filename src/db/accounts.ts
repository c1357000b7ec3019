import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Access, Installation } from '../core/access.ts';
import type { AccountLimitName } from '../core/operations/account-limits.ts';
import { type Account, DEFAULT_ACCOUNT_ID } from '../core/records.ts';
import { MINUTE } from '../core/time.ts';
import type { Tx } from './engine/transaction.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from './page.ts';

/** `endedKeys`: IDs of keys that worked until then. */
type AccountClosing =
  | { readonly kind: 'closed'; readonly endedKeys: readonly string[] }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'default_account' }
  /** Nothing changed. */
  | { readonly kind: 'has_projects'; readonly count: number };

/** Ids must be UUIDs; otherwise the call rejects. */
export type AccountStore = {
  /** Oldest first, including closed ones. An account sees itself. */
  list(access: Access, page: ListRange): Promise<Page<Account>>;
  find(access: Access, id: string): Promise<Account | null>;
  create(operator: Installation, account: NewAccount, at: Date): Promise<Account>;
  update(operator: Installation, id: string, change: AccountChange): Promise<Account | null>;
  /**
   * Revokes its keys; afterwards it can get no keys and projects. If it has projects, only with
   * `withProjects`: the caller deletes them afterwards. Idempotent: the first time of closing stays.
   */
  close(operator: Installation, id: string, how: CloseHow): Promise<AccountClosing>;
  /** IDs of projects that are not deleted, oldest first. */
  projectIds(operator: Installation, id: string, limit: number): Promise<readonly string[]>;
};

/** Null: the usual one again. */
type LimitChange = { readonly [N in AccountLimitName]?: number | null | undefined };
type NewAccount = { readonly name: string; readonly limits?: LimitChange | undefined };
type AccountChange = {
  readonly name?: string | undefined;
  readonly limits?: LimitChange | undefined;
};

type CloseHow = { readonly at: Date; readonly withProjects: boolean };

const columns = { id: true, name: true, limits: true, createdAt: true, closedAt: true } as const;

export function createAccountStore(prisma: PrismaClient): AccountStore {
  return {
    async list(access, { after, limit }) {
      const rows = await prisma.account.findMany({
        where: { AND: [visibleAccount(access), beyondPlace('createdAt', after, 'asc')] },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit + 1,
        select: columns,
      });
      return pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    },
    find: (access, id) =>
      prisma.account.findFirst({
        where: { AND: [{ id }, visibleAccount(access)] },
        select: columns,
      }),
    create: (_operator, { name, limits = {} }, at) =>
      prisma.account.create({
        data: { id: randomUUID(), name, limits: changed({}, limits), createdAt: at },
        select: columns,
      }),
    update: (_operator, id, change) => prisma.$transaction((tx) => update(tx, id, change)),
    close: (_operator, id, how) => prisma.$transaction((tx) => close(tx, id, how)),
    async projectIds(_operator, accountId, limit) {
      const rows = await prisma.project.findMany({
        where: { accountId, deletedAt: null },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { id: true },
      });
      return rows.map(({ id }) => id);
    },
  };
}

function visibleAccount(access: Access): Prisma.AccountWhereInput {
  return access.kind === 'installation' ? {} : { id: access.accountId };
}

async function update(
  tx: Tx,
  id: string,
  { name, limits }: AccountChange,
): Promise<Account | null> {
  await tx.$queryRaw`SELECT 1 FROM account WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
  const row = await tx.account.findUnique({ where: { id }, select: columns });
  if (row === null) return null;
  return tx.account.update({
    where: { id },
    data: {
      ...(name !== undefined && { name }),
      ...(limits !== undefined && { limits: changed(row.limits, limits) }),
    },
    select: columns,
  });
}

function changed(stored: unknown, change: LimitChange) {
  const all = { ...(stored as LimitChange), ...change }; // only written here
  return Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === 'number'));
}

/** The lock also waits for projects and keys that are being created. */
async function close(tx: Tx, id: string, { at, withProjects }: CloseHow): Promise<AccountClosing> {
  if (id === DEFAULT_ACCOUNT_ID) return { kind: 'default_account' };
  await tx.$queryRaw`SELECT 1 FROM account WHERE id = ${id}::uuid FOR UPDATE`;
  if ((await tx.account.count({ where: { id } })) === 0) return { kind: 'not_found' };
  const count = await tx.project.count({ where: { accountId: id, deletedAt: null } });
  if (count > 0 && !withProjects) return { kind: 'has_projects', count };
  // In the order in which uses of keys are saved (api-keys.ts), to avoid deadlocks.
  await tx.$queryRaw`
    SELECT 1 FROM api_key WHERE account_id = ${id}::uuid ORDER BY id FOR NO KEY UPDATE`;
  const ended = await tx.apiKey.updateManyAndReturn({
    where: { accountId: id, revokedAt: null },
    data: { revokedAt: at },
    select: { id: true },
  });
  await tx.account.updateMany({ where: { id, closedAt: null }, data: { closedAt: at } });
  return { kind: 'closed', endedKeys: ended.map((key) => key.id) };
}

/** As `keepOpen`, and prevents new projects until then. */
export async function keepProjects(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM account WHERE id = ${id}::uuid AND closed_at IS NULL FOR UPDATE`;
  return rows.length > 0;
}

/** Keeps the account open until the transaction ends. False if it is closed or unknown. */
export async function keepOpen(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM account WHERE id = ${id}::uuid AND closed_at IS NULL FOR KEY SHARE`;
  return rows.length > 0;
}

/** Some 100 bytes each. */
const PROJECTS_MAX = 20_000;
/** A moved project takes turns with its former account until then. */
const KNOWN_MS = 10 * MINUTE;

export type AccountOf = (projectId: string) => Promise<string>;

/** The ID of a project's account, at most `KNOWN_MS` old; for a missing project, the project's ID. */
export function createAccountOf(prisma: Pick<PrismaClient, 'project'>): AccountOf {
  const known = new LRUCache<string, string>({ max: PROJECTS_MAX, ttl: KNOWN_MS });
  return async (id) => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const project = await prisma.project.findUnique({ where: { id }, select: { accountId: true } });
    if (project === null) return id;
    known.set(id, project.accountId);
    return project.accountId;
  };
}
