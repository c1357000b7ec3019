/** Bearer keys at rest: a digest, scopes and an end, never the key. */

import type {
  Access,
  GrantedAccountId,
  GrantedProjectId,
  InstallationAccess,
} from '../core/accounts/access.ts';
import { createdAfter, firstPage, type PageQuery } from './engine/page.ts';
import type { Tx } from './engine/transaction.ts';
import type { ApiKey, Prisma, PrismaClient } from './generated/client.ts';
import { storedScopes, withHeldScopes } from './key-scopes.ts';

/** SHA-256 of the whole token (src/config/api-key.ts). */
type Digest = Uint8Array<ArrayBuffer>;
/**
 * What authentication needs of a key. `expiresAt` and `revokedAt` are null where it does not end, `accountClosedAt` where its
 * account is open, or it has none; `accountLimits` are those that are stored of that.
 */
export type KeyRow = Pick<
  ApiKey,
  'id' | 'digest' | 'scopes' | 'expiresAt' | 'revokedAt' | 'accountId' | 'projectIds'
> & { readonly accountClosedAt: Date | null; readonly accountLimits: unknown };
/** Whose a key is: an account's, or with its access the installation's. */
export type KeyOwner = GrantedAccountId | InstallationAccess;
/** A key to be stored. `expiresAt` missing or null: it does not expire. */
export type NewKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Digest;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt?: Date | null;
  /** Of the owner's, which must be an account: the key is for these projects alone. Missing or empty: for all. */
  readonly projectIds?: readonly GrantedProjectId[];
};

/** Everything that may be shown of a key. */
export type KeyDetails = Prisma.ApiKeyGetPayload<typeof shown>;

/** API keys. `createFirst`, `put`, `rotate` and `revoke` run one after the other, across all processes. */
export type ApiKeyStore = {
  /**
   * The key that a token claims to be: the one with its id, else the one with its digest, as an operator's own key
   * has no id. Whether it is that key is for the caller to compare. Expired and revoked keys are found too.
   */
  find(claim: { readonly id: string | null; readonly digest: Digest }): Promise<KeyRow | null>;
  /** What the access reaches, oldest first, a page of it. */
  list(access: Access, page?: PageQuery): Promise<KeyDetails[]>;
  /** Null where there is none, or the access does not reach it. */
  get(access: Access, id: string): Promise<KeyDetails | null>;
  /** The key that asks, whatever it reaches. */
  self(id: string): Promise<KeyDetails | null>;
  /** Rejects where the id or the digest is taken. */
  create(owner: KeyOwner, key: NewKey): Promise<KeyDetails>;
  /** Stores the key where there is none at all, not even a revoked one; true where it was stored. */
  createFirst(key: NewKey): Promise<boolean>;
  /** Stores the key in place of the one with its id. Where its digest is known, under whatever id, it changes nothing. */
  put(key: NewKey): Promise<void>;
  /** Gives a key a successor and an end, in one transaction. What is not `rotated` changed nothing. */
  rotate(access: Access, id: string, rotation: Rotation): Promise<RotationResult>;
  /**
   * Deletes at most `limit` keys of accounts that ended before then, by themselves or with their account, and returns how many
   * there were. The installation's stay: by its row an `API_KEY` that was revoked is known.
   */
  dropEnded(before: Date, limit: number): Promise<number>;
  /** Revokes a key, unless no live key could manage all keys afterwards. Idempotent: a revoked one keeps its time. */
  revoke(access: Access, id: string, now: Date): Promise<RevokeResult>;
};

/** An advisory lock for whoever decides by which other keys there are. Any number that no other lock of the service uses. */
const LOCK = 7_367_001;

const shown = {
  omit: { digest: true },
  include: {
    deprecatedUses: {
      select: { operationId: true, count: true, lastUsedAt: true },
      orderBy: { operationId: 'asc' },
    },
  },
} as const satisfies Prisma.ApiKeyDefaultArgs;

/** Whether a key expired is decided by the caller's clock, not by the database's. */
export function createApiKeyStore(prisma: PrismaClient): ApiKeyStore {
  /** READ COMMITTED, so that what is read after the lock was taken includes what its previous holder committed. */
  const locked = <T>(act: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> =>
    prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
      return act(tx);
    });
  return {
    async find({ id, digest }) {
      // One statement whether there is such an id or not, so that the time it takes does not reveal which ids exist.
      const found = await prisma.$queryRaw<KeyRow[]>`
        SELECT key.id, digest, scopes, expires_at AS "expiresAt", revoked_at AS "revokedAt",
          account_id::text AS "accountId", project_ids::text[] AS "projectIds",
          account.closed_at AS "accountClosedAt", account.limits AS "accountLimits"
        FROM api_key key LEFT JOIN account ON account.id = account_id
        WHERE key.id = ${id} OR digest = ${digest}`;
      const key = found.find((one) => one.id === id) ?? found[0];
      return key === undefined ? null : withHeldScopes(key);
    },
    async list(access, { after, limit } = firstPage) {
      const found = await prisma.apiKey.findMany({
        ...shown,
        where: { AND: [keysWithin(access), createdAfter(after)] },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit,
      });
      return found.map(withHeldScopes);
    },
    async get(access, id) {
      const where = { AND: [{ id }, keysWithin(access)] };
      const found = await prisma.apiKey.findFirst({ ...shown, where });
      return found && withHeldScopes(found);
    },
    async self(id) {
      const found = await prisma.apiKey.findUnique({ ...shown, where: { id } });
      return found && withHeldScopes(found);
    },
    async create(owner, key) {
      const accountId = accountOf(owner);
      const scopes = storedScopes(key.scopes, accountId);
      const data = { ...rowOf(key), scopes, accountId };
      return withHeldScopes(await prisma.apiKey.create({ ...shown, data }));
    },
    createFirst: (key) =>
      locked(async (tx) => {
        if ((await tx.apiKey.count()) > 0) return false;
        await tx.apiKey.create({ data: rowOf(key) });
        return true;
      }),
    put: (key) => locked((tx) => put(tx, key)),
    rotate: (access, id, rotation) => locked((tx) => rotate(tx, access, id, rotation)),
    dropEnded: (before, limit) =>
      prisma.$executeRaw`
        DELETE FROM api_key WHERE id IN (
          SELECT key.id FROM api_key key JOIN account ON account.id = account_id
          WHERE LEAST(revoked_at, expires_at, closed_at) < ${before.toISOString()}::timestamptz
          LIMIT ${limit} FOR UPDATE OF key SKIP LOCKED)`,
    revoke: (access, id, now) => locked((tx) => revoke(tx, access, id, now)),
  };
}

async function put(tx: Prisma.TransactionClient, key: NewKey): Promise<void> {
  // A key that is known stays as it is: a restart must not bring a revoked or rotated one back.
  if ((await tx.apiKey.count({ where: { digest: key.digest } })) > 0) return;
  // The previous key's end and uses must not become this one's.
  await tx.apiKey.deleteMany({ where: { id: key.id } });
  await tx.apiKey.create({ data: rowOf(key) });
}

function rowOf({ scopes, projectIds = [], ...key }: NewKey) {
  return { ...key, scopes: [...scopes], projectIds: [...projectIds] };
}

function accountOf(owner: KeyOwner): string | null {
  return typeof owner === 'string' ? owner : null;
}

/** What restricts a query to the keys that an access manages. One that is for some projects alone manages none. */
export function keysWithin(access: Access): Prisma.ApiKeyWhereInput {
  if (access.kind === 'installation') return {};
  return access.projectIds === null ? { accountId: access.accountId } : { id: { in: [] } };
}

/** What a key is replaced with; times of the successor follow from the key's own. */
export type Rotation = {
  readonly successor: { readonly id: string; readonly digest: Uint8Array<ArrayBuffer> };
  /** How long the key lives on beside its successor; 0 ends it at once. */
  readonly graceMs: number;
  readonly now: Date;
};

/** `ended`: expired or revoked. `last_admin`: no other live key may manage keys, and the grace is 0. */
export type RotationResult =
  | { readonly kind: 'rotated'; readonly successor: KeyDetails }
  | { readonly kind: 'not_found' | 'ended' | 'has_successor' | 'last_admin' }
  /** A key that came before this one works until `endsAt`; with another successor three would work at once. */
  | { readonly kind: 'predecessor_live'; readonly predecessorId: string; readonly endsAt: Date };

/** `revoked` also where it was before. `last_admin`: no other live key may manage keys, and nothing was changed. */
export type RevokeResult = 'revoked' | 'not_found' | 'last_admin';

/** Whether a key is accepted at this time: it is not revoked, and its end, if it has one, is later. */
export function isLive(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/**
 * Stores a successor with the same name, scopes, account and projects and as long a life, and ends the key after the grace, or at its own end
 * where that is sooner. Run it inside a transaction that holds the lock above, as ApiKeyStore does.
 */
export async function rotate(
  tx: Tx,
  access: Access,
  id: string,
  rotation: Rotation,
): Promise<RotationResult> {
  const key = await tx.apiKey.findFirst({ where: { AND: [{ id }, keysWithin(access)] } });
  if (key === null) return { kind: 'not_found' };
  const refused = await whyNot(tx, key, rotation);
  if (refused !== null) return refused;
  const { successor, graceMs, now } = rotation;
  const graceEnd = new Date(now.getTime() + graceMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt < graceEnd ? key.expiresAt : graceEnd;
  const { name, scopes, accountId, projectIds } = key;
  const same = { name, scopes, accountId, projectIds };
  const made = await tx.apiKey.create({
    data: { ...successor, ...same, createdAt: now, expiresAt: sameLifeFrom(now, key) },
    omit: { digest: true },
  });
  await tx.apiKey.update({ where: { id }, data: { successorId: made.id, expiresAt } });
  return { kind: 'rotated', successor: { ...withHeldScopes(made), deprecatedUses: [] } };
}

async function whyNot(
  tx: Tx,
  key: ApiKey,
  { graceMs, now }: Rotation,
): Promise<RotationResult | null> {
  if (!isLive(key, now)) return { kind: 'ended' };
  if (key.successorId !== null) return { kind: 'has_successor' };
  if (graceMs === 0) {
    // The successor is an admin, too; but an answer that is lost on its way would leave nobody with a key.
    return (await isLastAdmin(tx, key, now)) ? { kind: 'last_admin' } : null;
  }
  const live = await livePredecessor(tx, key.id, now);
  return live && { kind: 'predecessor_live', predecessorId: live.id, endsAt: live.expiresAt };
}

/** The successor's end: as long after `now` as the key's own end is after its creation; null where it has none. */
function sameLifeFrom(now: Date, { createdAt, expiresAt }: ApiKey): Date | null {
  if (expiresAt === null) return null;
  return new Date(now.getTime() + expiresAt.getTime() - createdAt.getTime());
}

/** Revokes a key at `now`. Run it inside a transaction that holds the lock above, as ApiKeyStore does. */
export async function revoke(tx: Tx, access: Access, id: string, now: Date): Promise<RevokeResult> {
  const key = await tx.apiKey.findFirst({ where: { AND: [{ id }, keysWithin(access)] } });
  if (key === null) return 'not_found';
  if (key.revokedAt !== null) return 'revoked';
  if (isLive(key, now) && (await isLastAdmin(tx, key, now))) return 'last_admin';
  await tx.apiKey.update({ where: { id }, data: { revokedAt: now } });
  return 'revoked';
}

/** Whether no other key that is live may manage all keys, and this one may. An account's keys manage its own alone. */
async function isLastAdmin(tx: Tx, key: ApiKey, now: Date): Promise<boolean> {
  const { id, scopes, accountId } = key;
  if (accountId !== null || !scopes.includes('admin')) return false;
  const others = await tx.apiKey.count({
    where: {
      id: { not: id },
      scopes: { has: 'admin' },
      accountId: null,
      revokedAt: null,
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
  });
  return others === 0;
}

/** A predecessor that still works, however far back: one in between may have ended sooner. Rotated keys all have an end. */
async function livePredecessor(tx: Tx, id: string, now: Date) {
  const [live] = await tx.$queryRaw<{ id: string; expiresAt: Date }[]>`
    WITH RECURSIVE line AS (
      SELECT * FROM api_key WHERE successor_id = ${id}
      UNION ALL
      SELECT before.* FROM api_key before JOIN line ON before.successor_id = line.id
    )
    SELECT id, expires_at AS "expiresAt" FROM line
    WHERE revoked_at IS NULL AND expires_at > ${now} ORDER BY expires_at DESC LIMIT 1`;
  return live ?? null;
}
