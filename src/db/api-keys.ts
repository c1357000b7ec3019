/** Stores digests of API keys, never a key itself. */
import { type Access, asInstallation } from '../core/access.ts';
import { keepOpen } from './accounts.ts';
import type { Tx } from './engine/transaction.ts';
import type { ApiKey, Prisma, PrismaClient } from './generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from './page.ts';

/** SHA-256 of the whole token (src/config/api-key.ts). */
type Digest = Uint8Array<ArrayBuffer>;
/** May be expired or revoked. Can have scopes that this version does not know. */
export type StoredKey = Pick<
  ApiKey,
  'id' | 'digest' | 'scopes' | 'accountId' | 'projectIds' | 'expiresAt' | 'revokedAt'
>;
/** `id` is null if the token does not have our key format. */
export type KeyClaim = { readonly id: string | null; readonly digest: Digest };
type NewKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Digest;
  readonly scopes: readonly string[];
  /** Missing: the installation's. */
  readonly accountId?: string | null;
  /** Of the account; missing or empty: all. */
  readonly projectIds?: readonly string[] | undefined;
  /** Missing: no key made it. */
  readonly madeBy?: string | null;
  readonly createdAt: Date;
  /** Missing: as its maker. */
  readonly expiresAt?: Date | null | undefined;
};

/** `account_closed`: also if it is unknown. Only `created` changes anything. */
export type KeyCreation =
  | { readonly kind: 'created'; readonly key: KeyDetails }
  | { readonly kind: 'account_closed' | 'maker_ended' }
  | { readonly kind: 'outlives_maker'; readonly endsAt: Date }
  | { readonly kind: 'project_not_found'; readonly projectId: string };

export type KeyDetails = Prisma.ApiKeyGetPayload<typeof shown>;

/** An account sees its own keys. `createFirst`, `put`, `rotate` and `revoke` are serialized across all processes. */
export type ApiKeyStore = {
  /**
   * By the token's id, otherwise by digest: the operator's key has no id. Also returns ended keys.
   * The caller must compare the digest.
   */
  find(claim: KeyClaim): Promise<StoredKey | null>;
  /** Oldest first. */
  list(access: Access, page: ListRange): Promise<Page<KeyDetails>>;
  get(access: Access, id: string): Promise<KeyDetails | null>;
  create(access: Access, key: NewKey): Promise<KeyCreation>;
  /** Only if there is no other key, not even a revoked one. */
  createFirst(key: NewKey): Promise<boolean>;
  /** Replaces the key with the same id. False if the digest is known under any id: nothing changed. */
  put(key: NewKey): Promise<boolean>;
  /** One transaction. Any result but `rotated` changed nothing. */
  rotate(access: Access, id: string, rotation: Rotation): Promise<RotationResult>;
  /**
   * With all keys that it made, they made, and so on. Refused if no live admin key would be left.
   * Idempotent: the first revocation time stays.
   */
  revoke(access: Access, id: string, now: Date): Promise<RevokeResult>;
};

/** For decisions that depend on other keys. Must differ from every other advisory lock. */
const LOCK = 7_367_001;

export const authenticated = {
  id: true,
  digest: true,
  scopes: true,
  accountId: true,
  projectIds: true,
  expiresAt: true,
  revokedAt: true,
} as const;
const shown = {
  omit: { digest: true },
  include: {
    deprecatedUses: {
      select: { operationId: true, count: true, lastUsedAt: true },
      orderBy: { operationId: 'asc' },
    },
  },
} as const satisfies Prisma.ApiKeyDefaultArgs;

/** The caller's clock decides whether a key is expired. */
export function createApiKeyStore(prisma: PrismaClient): ApiKeyStore {
  /** READ COMMITTED: reads after taking the lock see what its previous holder committed. */
  const locked = <T>(act: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> =>
    prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
      return act(tx);
    });
  return {
    async find({ id, digest }) {
      const select = authenticated;
      if (id === null) return prisma.apiKey.findUnique({ where: { digest }, select });
      // One statement in either case, so that timing does not reveal which ids exist.
      const found = await prisma.apiKey.findMany({ where: { OR: [{ id }, { digest }] }, select });
      return found.find((key) => key.id === id) ?? found[0] ?? null;
    },
    async list(access, { after, limit }) {
      const rows = await prisma.apiKey.findMany({
        ...shown,
        where: { AND: [visibleKey(access), beyondPlace('createdAt', after, 'asc')] },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        take: limit + 1,
      });
      return pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    },
    get: (access, id) => prisma.apiKey.findFirst({ ...shown, where: keyOf(access, id) }),
    create: (access, key) => prisma.$transaction((tx) => create(tx, access, key)),
    createFirst: (key) =>
      locked(async (tx) => {
        if ((await tx.apiKey.count()) > 0) return false;
        await tx.apiKey.create({ data: rowOf(key) });
        return true;
      }),
    put: (key) => locked((tx) => put(tx, key)),
    rotate: (access, id, rotation) => locked((tx) => rotate(tx, access, id, rotation)),
    revoke: (access, id, now) => locked((tx) => revoke(tx, access, id, now)),
  };
}

async function put(tx: Prisma.TransactionClient, key: NewKey): Promise<boolean> {
  // A known key stays unchanged: a restart must not bring back a revoked or rotated one.
  if ((await tx.apiKey.count({ where: { digest: key.digest } })) > 0) return false;
  // The previous key's expiry and uses must not carry over.
  await tx.apiKey.deleteMany({ where: { id: key.id } });
  await tx.apiKey.create({ data: rowOf(key) });
  return true;
}

function rowOf({ scopes, accountId = null, projectIds = [], expiresAt = null, ...key }: NewKey) {
  return { ...key, expiresAt, scopes: [...scopes], accountId, projectIds: [...projectIds] };
}

export function visibleKey(access: Access): Prisma.ApiKeyWhereInput {
  return access.kind === 'installation' ? {} : { accountId: access.accountId };
}

function keyOf(access: Access, id: string) {
  return { AND: [{ id }, visibleKey(access)] };
}

async function create(tx: Tx, access: Access, key: NewKey): Promise<KeyCreation> {
  const { accountId = null, projectIds = [] } = key;
  if (access.kind === 'installation' || access.accountId !== accountId) asInstallation(access);
  if (accountId !== null && !(await keepOpen(tx, accountId))) return { kind: 'account_closed' };
  const where = { id: { in: [...projectIds] }, accountId: accountId ?? '', deletedAt: null };
  const maker = await holdMaker(tx, key);
  if (maker === null) return { kind: 'maker_ended' };
  const { expiresAt = maker.expiresAt } = key;
  const endsAt = maker.expiresAt;
  if (endsAt !== null && (expiresAt === null || expiresAt > endsAt)) {
    return { kind: 'outlives_maker', endsAt };
  }
  const found = projectIds.length === 0 ? [] : await tx.project.findMany({ where });
  const unknown = projectIds.find((id) => found.every((project) => project.id !== id));
  if (unknown !== undefined) return { kind: 'project_not_found', projectId: unknown };
  const data = rowOf({ ...key, expiresAt });
  return { kind: 'created', key: await tx.apiKey.create({ ...shown, data }) };
}

/** Neither revoked nor rotated until the transaction ends. Null: it has ended. */
async function holdMaker(
  tx: Tx,
  { madeBy = null, createdAt }: NewKey,
): Promise<Pick<ApiKey, 'expiresAt'> | null> {
  if (madeBy === null) return { expiresAt: null };
  await tx.$queryRaw`SELECT 1 FROM api_key WHERE id = ${madeBy} FOR SHARE`;
  return tx.apiKey.findFirst({
    where: { id: madeBy, ...liveKey(createdAt) },
    select: { expiresAt: true },
  });
}

type Rotation = {
  /** The key that asks, which can be the rotated one. Null: from the command line. */
  readonly askerId: string | null;
  readonly successor: { readonly id: string; readonly digest: Uint8Array<ArrayBuffer> };
  /** How long the key stays valid beside its successor; 0 ends it at once. */
  readonly graceMs: number;
  readonly now: Date;
};

/** `ended`: expired or revoked. `last_admin`: no other live admin key, and the grace is 0. */
export type RotationResult =
  | {
      readonly kind: 'rotated';
      readonly successor: KeyDetails;
      /** Of the key, and its sessions. */
      readonly endsAt: Date;
      /** Keys that it made, which now end with the successor. */
      readonly movedIds: readonly string[];
    }
  /** `made_asker`: it made the key that asks, directly or not. */
  | { readonly kind: 'not_found' | 'ended' | 'has_successor' | 'last_admin' | 'made_asker' }
  /** The successor would live longer than the key that asks. */
  | { readonly kind: 'outlives_asker'; readonly endsAt: Date }
  /** The key's predecessor is valid until `endsAt`; a successor would make three valid keys. */
  | { readonly kind: 'predecessor_live'; readonly predecessorId: string; readonly endsAt: Date };

/** `revoked` also if it was revoked before. `endedIds`: the key, and those that end with it. */
type RevokeResult =
  | { readonly kind: 'revoked'; readonly endedIds: readonly string[] }
  | { readonly kind: 'not_found' | 'last_admin' };

export function isLive(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/** `isLive` as a condition. */
export function liveKey(now: Date) {
  return { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
}

/**
 * The successor has the same lifetime, but ends with the key's maker, and gets the keys that it made.
 * Ends the key after the grace or at its own expiry, whichever is sooner. The caller holds the lock.
 */
async function rotate(
  tx: Tx,
  access: Access,
  id: string,
  rotation: Rotation,
): Promise<RotationResult> {
  const key = await tx.apiKey.findFirst({ where: keyOf(access, id) });
  if (key === null) return { kind: 'not_found' };
  const refused = await whyNot(tx, key, rotation);
  if (refused !== null) return refused;
  const { successor, graceMs, now, askerId } = rotation;
  const graceEnd = new Date(now.getTime() + graceMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt < graceEnd ? key.expiresAt : graceEnd;
  const { name, scopes, accountId, projectIds, madeBy } = key;
  const granted = { name, scopes, accountId, projectIds, madeBy };
  const maker = madeBy === null ? null : await tx.apiKey.findUnique({ where: { id: madeBy } });
  const successorEnd = earlier(sameLifeFrom(now, key), maker?.expiresAt ?? null);
  const beyond = await reachesBeyond(tx, askerId, id, successorEnd);
  if (beyond) return beyond;
  const made = await tx.apiKey.create({
    data: { ...successor, ...granted, createdAt: now, expiresAt: successorEnd },
    omit: { digest: true },
  });
  await tx.apiKey.update({ where: { id }, data: { successorId: made.id, expiresAt } });
  const moved = await tx.apiKey.updateManyAndReturn({
    where: { madeBy: id },
    data: { madeBy: made.id },
    select: { id: true },
  });
  const movedIds = moved.map((one) => one.id).sort();
  return {
    kind: 'rotated',
    successor: { ...made, deprecatedUses: [] },
    endsAt: expiresAt,
    movedIds,
  };
}

/** A key gives another one's successor no longer life than its own. Null: it does not. */
async function reachesBeyond(
  tx: Tx,
  askerId: string | null,
  id: string,
  successorEnd: Date | null,
): Promise<RotationResult | null> {
  if (askerId === null || askerId === id) return null;
  if ((await madeFrom(tx, id)).includes(askerId)) return { kind: 'made_asker' };
  const asker = await tx.apiKey.findUnique({ where: { id: askerId } });
  const expiresAt = asker?.expiresAt ?? null;
  const isLater = expiresAt !== null && (successorEnd === null || successorEnd > expiresAt);
  return isLater ? { kind: 'outlives_asker', endsAt: expiresAt } : null;
}

/** Null: never. */
function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

async function whyNot(
  tx: Tx,
  key: ApiKey,
  { graceMs, now }: Rotation,
): Promise<RotationResult | null> {
  const { accountId } = key;
  if (!isLive(key, now) || (accountId !== null && !(await keepOpen(tx, accountId)))) {
    return { kind: 'ended' };
  }
  if (key.successorId !== null) return { kind: 'has_successor' };
  if (graceMs === 0) {
    // The successor is an admin, too, but if the response is lost, no usable admin key is left.
    return (await isLastAdmin(tx, key, now)) ? { kind: 'last_admin' } : null;
  }
  const live = await livePredecessor(tx, key.id, now);
  return live && { kind: 'predecessor_live', predecessorId: live.id, endsAt: live.expiresAt };
}

function sameLifeFrom(now: Date, { createdAt, expiresAt }: ApiKey): Date | null {
  if (expiresAt === null) return null;
  return new Date(now.getTime() + expiresAt.getTime() - createdAt.getTime());
}

/** The caller holds the lock. */
async function revoke(tx: Tx, access: Access, id: string, now: Date): Promise<RevokeResult> {
  const key = await tx.apiKey.findFirst({ where: keyOf(access, id) });
  if (key === null) return { kind: 'not_found' };
  if (isLive(key, now) && (await isLastAdmin(tx, key, now, await madeFrom(tx, id)))) {
    return { kind: 'last_admin' };
  }
  for (;;) {
    const ids = [id, ...(await madeFrom(tx, id))];
    // In the order in which uses of keys are saved, to avoid deadlocks.
    await tx.$queryRaw`SELECT 1 FROM api_key WHERE id = ANY (${ids}) ORDER BY id FOR NO KEY UPDATE`;
    const where = { id: { in: ids }, revokedAt: null };
    const { count } = await tx.apiKey.updateMany({ where, data: { revokedAt: now } });
    // Again: one of them can have made a key that was not committed before.
    if (count === 0) return { kind: 'revoked', endedIds: ids };
  }
}

/** The keys that a key made, they made, and so on. */
async function madeFrom(tx: Tx, id: string): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    WITH RECURSIVE made AS (
      SELECT id FROM api_key WHERE made_by = ${id}
      UNION
      SELECT next.id FROM api_key next JOIN made ON next.made_by = made.id
    )
    SELECT id FROM made`;
  return rows.map((row) => row.id);
}

/** `ending`: keys that would end with it. */
async function isLastAdmin(
  tx: Tx,
  { id, scopes }: ApiKey,
  now: Date,
  ending: readonly string[] = [],
): Promise<boolean> {
  if (!scopes.includes('admin')) return false;
  const others = await tx.apiKey.count({
    where: {
      id: { notIn: [id, ...ending] },
      accountId: null,
      scopes: { has: 'admin' },
      ...liveKey(now),
    },
  });
  return others === 0;
}

/** Searches all predecessors, since one in between can have expired. Rotated keys always expire. */
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

type KeyUse = { readonly keyId: string; readonly usedAt: Date };
type DeprecatedUses = KeyUse & { readonly operationId: string; readonly count: number };

/** Each call is one statement: all or none of `uses` is saved. Ignores unknown keys. */
export type KeyUsageStore = {
  /** Moves each key's last use forward, never back. */
  saveUses(uses: readonly KeyUse[]): Promise<void>;
  /** Each key and operation must be unique in `uses`. */
  addDeprecated(uses: readonly DeprecatedUses[]): Promise<void>;
};

export function createKeyUsageStore(prisma: PrismaClient): KeyUsageStore {
  return {
    async saveUses(uses) {
      // Locked in the order of their ids, so that concurrent saves cannot deadlock.
      await prisma.$executeRaw`
        WITH use AS (
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(uses)}::jsonb)
            AS use ("keyId" text, "usedAt" timestamptz(3))
        ), locked AS (
          SELECT id, "usedAt" FROM api_key JOIN use ON id = "keyId" ORDER BY id FOR NO KEY UPDATE OF api_key
        )
        UPDATE api_key SET last_used_at = "usedAt" FROM locked
        WHERE api_key.id = locked.id AND (last_used_at IS NULL OR last_used_at < "usedAt")`;
    },
    async addDeprecated(uses) {
      await prisma.$executeRaw`
        INSERT INTO deprecated_use AS known (api_key_id, operation_id, count, last_used_at)
        SELECT id, "operationId", use.count, "usedAt"
        FROM jsonb_to_recordset(${JSON.stringify(uses)}::jsonb)
          AS use ("keyId" text, "operationId" text, count bigint, "usedAt" timestamptz(3))
          JOIN api_key ON id = "keyId"
        ORDER BY id, "operationId"
        ON CONFLICT (api_key_id, operation_id) DO UPDATE SET count = known.count + excluded.count,
          last_used_at = GREATEST(known.last_used_at, excluded.last_used_at)`;
    },
  };
}
