/** Accounts: the customers of the platform. */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  type Access,
  DEFAULT_ACCOUNT_ID,
  type GrantedAccountId,
  type InstallationAccess,
} from '../core/accounts/access.ts';
import type { LimitOverrides } from '../core/accounts/limits.ts';
import type { Account } from '../core/records.ts';
import { createdAfter, firstPage, type PageQuery } from './engine/page.ts';
import { gather } from './engine/statements.ts';
import type { Tx } from './engine/transaction.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/** An account that an access reaches: its id lets projects and keys be made in it. */
export type GrantedAccount = Account & { readonly id: GrantedAccountId };

/** An account to be stored. */
export type NewAccount = { readonly name: string; readonly limits: LimitOverrides };
/** What is to change; a missing field stays as it is. `limits` takes the place of all that were stored. */
export type AccountChange = {
  readonly name?: string | undefined;
  readonly limits?: LimitOverrides | undefined;
};

/** `in_use`: it has domains attached, or everything without an account goes there; nothing was changed. */
export type Closing = { readonly kind: 'closed' | 'in_use' | 'default' };

/** Ids must be UUIDs: the database refuses any other text, and the call rejects. Closed accounts are found, too. */
export type AccountStore = {
  /** Oldest first: what the access reaches, a page of it. */
  list(access: Access, page?: PageQuery): Promise<GrantedAccount[]>;
  /** Null where there is no such account, and where the access does not reach it. */
  find(access: Access, id: string): Promise<GrantedAccount | null>;
  create(access: InstallationAccess, account: NewAccount): Promise<GrantedAccount>;
  update(
    access: InstallationAccess,
    id: GrantedAccountId,
    change: AccountChange,
  ): Promise<GrantedAccount>;
  /**
   * Its keys are refused from then on, everywhere within 5 s. Idempotent: a closed one keeps its time. No domain is added to
   * it while it closes, nor afterwards.
   */
  close(access: InstallationAccess, id: GrantedAccountId, at: Date): Promise<Closing>;
};

/** Every call is one transaction. */
export function createAccountStore(prisma: PrismaClient): AccountStore {
  return {
    async list(access, { after, limit } = firstPage) {
      const found = await prisma.account.findMany({
        where: { AND: [accountsWithin(access), createdAfter(after)] },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
      });
      return found.map(grant);
    },
    async find(access, id) {
      const found = await prisma.account.findFirst({
        where: { AND: [{ id }, accountsWithin(access)] },
      });
      return found && grant(found);
    },
    async create(_access, { name, limits }) {
      return grant(await prisma.account.create({ data: { id: randomUUID(), name, limits } }));
    },
    async update(_access, id, { name, limits }) {
      const data = { ...(name !== undefined && { name }), ...(limits !== undefined && { limits }) };
      return grant(await prisma.account.update({ where: { id }, data }));
    },
    close: (_access, id, at) => prisma.$transaction((tx) => close(tx, id, at)),
  };
}

/** A project stays in its account for ever, so what was read once holds. Some 150 bytes each. */
const KNOWN_MAX = 100_000;

/**
 * Returns the call that says which account a project belongs to, for the work that processes do by themselves: no access is
 * asked. A project that is not there is its own account. Calls that arrive together share a statement; rejects where the
 * database is away.
 */
export function createAccountOf(prisma: PrismaClient): (projectId: string) => Promise<string> {
  const known = new LRUCache<string, string>({ max: KNOWN_MAX });
  const load = gather(
    async (ids: readonly string[]) => {
      const where = { id: { in: [...new Set(ids)] } };
      const rows = await prisma.project.findMany({ where, select: { id: true, accountId: true } });
      for (const { id, accountId } of rows) known.set(id, accountId);
      return ids.map((id) => known.get(id) ?? id);
    },
    { itemsMax: 500, concurrency: 1 },
  );
  return async (projectId) => known.get(projectId) ?? load(projectId);
}

function accountsWithin(access: Access): Prisma.AccountWhereInput {
  return access.kind === 'installation' ? {} : { id: access.accountId };
}

/** Called where the access has been checked, by the query itself. */
function grant(account: Account): GrantedAccount {
  return { ...account, id: account.id as GrantedAccountId };
}

/**
 * Locks the account's row until the transaction ends: what counts an account's things against a limit, and what closes it,
 * come one after the other. Taken before every other lock. Null where the account is closed. `shared`: for those that
 * count nothing; they keep it from being closed, and wait for no other of their kind. Gives the account's own limits, which
 * nobody changes until then, as stored.
 */
export async function lockAccount(
  tx: Tx,
  id: string,
  mode: 'exclusive' | 'shared' = 'exclusive',
): Promise<{ readonly limits: unknown } | null> {
  type Row = { readonly isOpen: boolean; readonly limits: unknown };
  const rows =
    mode === 'shared'
      ? await tx.$queryRaw<Row[]>`
          SELECT closed_at IS NULL AS "isOpen", limits FROM account WHERE id = ${id}::uuid FOR SHARE`
      : await tx.$queryRaw<Row[]>`
          SELECT closed_at IS NULL AS "isOpen", limits FROM account WHERE id = ${id}::uuid
          FOR NO KEY UPDATE`;
  const [row] = rows;
  return row?.isOpen === true ? row : null;
}

async function close(tx: Tx, id: GrantedAccountId, at: Date): Promise<Closing> {
  if (id === DEFAULT_ACCOUNT_ID) return { kind: 'default' };
  if ((await lockAccount(tx, id)) === null) return { kind: 'closed' };
  const attached = await tx.domain.findFirst({
    where: { removedAt: null, project: { accountId: id } },
    select: { id: true },
  });
  if (attached !== null) return { kind: 'in_use' };
  await tx.account.update({ where: { id }, data: { closedAt: at } });
  return { kind: 'closed' };
}
