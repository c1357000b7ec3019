/** Bearer keys at rest: a digest, scopes and an end, never the key. */

import type { Tx } from './engine/transaction.ts';
import type { ApiKey, Prisma, PrismaClient } from './generated/client.ts';

/** SHA-256 of the whole token (src/config/api-key.ts). */
type Digest = Uint8Array<ArrayBuffer>;
/** What authentication needs of a key. `expiresAt` and `revokedAt` are null where it does not end. */
export type KeyRow = Pick<ApiKey, 'id' | 'digest' | 'scopes' | 'expiresAt' | 'revokedAt'>;
/** A key to be stored. `expiresAt` missing or null: it does not expire. */
export type NewKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Digest;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt?: Date | null;
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
  /** All of them, oldest first. */
  list(): Promise<KeyDetails[]>;
  /** Null where there is none. */
  get(id: string): Promise<KeyDetails | null>;
  /** Rejects where the id or the digest is taken. */
  create(key: NewKey): Promise<KeyDetails>;
  /** Stores the key where there is none at all, not even a revoked one; true where it was stored. */
  createFirst(key: NewKey): Promise<boolean>;
  /** Stores the key in place of the one with its id. Where its digest is known, under whatever id, it changes nothing. */
  put(key: NewKey): Promise<void>;
  /** Gives a key a successor and an end, in one transaction. What is not `rotated` changed nothing. */
  rotate(id: string, rotation: Rotation): Promise<RotationResult>;
  /** Revokes a key, unless no live key could manage keys afterwards. Idempotent: a revoked one keeps its time. */
  revoke(id: string, now: Date): Promise<RevokeResult>;
};

/** An advisory lock for whoever decides by which other keys there are. Any number that no other lock of the service uses. */
const LOCK = 7_367_001;

const authenticated = { id: true, digest: true, scopes: true, expiresAt: true, revokedAt: true };
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
      const select = authenticated;
      if (id === null) return prisma.apiKey.findUnique({ where: { digest }, select });
      // One statement whether there is such an id or not, so that the time it takes does not reveal which ids exist.
      const found = await prisma.apiKey.findMany({ where: { OR: [{ id }, { digest }] }, select });
      return found.find((key) => key.id === id) ?? found[0] ?? null;
    },
    list: () =>
      prisma.apiKey.findMany({ ...shown, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }),
    get: (id) => prisma.apiKey.findUnique({ ...shown, where: { id } }),
    create: (key) => prisma.apiKey.create({ ...shown, data: rowOf(key) }),
    createFirst: (key) =>
      locked(async (tx) => {
        if ((await tx.apiKey.count()) > 0) return false;
        await tx.apiKey.create({ data: rowOf(key) });
        return true;
      }),
    put: (key) => locked((tx) => put(tx, key)),
    rotate: (id, rotation) => locked((tx) => rotate(tx, id, rotation)),
    revoke: (id, now) => locked((tx) => revoke(tx, id, now)),
  };
}

async function put(tx: Prisma.TransactionClient, key: NewKey): Promise<void> {
  // A key that is known stays as it is: a restart must not bring a revoked or rotated one back.
  if ((await tx.apiKey.count({ where: { digest: key.digest } })) > 0) return;
  // The previous key's end and uses must not become this one's.
  await tx.apiKey.deleteMany({ where: { id: key.id } });
  await tx.apiKey.create({ data: rowOf(key) });
}

function rowOf({ scopes, ...key }: NewKey) {
  return { ...key, scopes: [...scopes] };
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
 * Stores a successor with the same name and scopes and as long a life, and ends the key after the grace, or at its own end
 * where that is sooner. Run it inside a transaction that holds the lock above, as ApiKeyStore does.
 */
export async function rotate(tx: Tx, id: string, rotation: Rotation): Promise<RotationResult> {
  const key = await tx.apiKey.findUnique({ where: { id } });
  if (key === null) return { kind: 'not_found' };
  const refused = await whyNot(tx, key, rotation);
  if (refused !== null) return refused;
  const { successor, graceMs, now } = rotation;
  const graceEnd = new Date(now.getTime() + graceMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt < graceEnd ? key.expiresAt : graceEnd;
  const { name, scopes } = key;
  const made = await tx.apiKey.create({
    data: { ...successor, name, scopes, createdAt: now, expiresAt: sameLifeFrom(now, key) },
    omit: { digest: true },
  });
  await tx.apiKey.update({ where: { id }, data: { successorId: made.id, expiresAt } });
  return { kind: 'rotated', successor: { ...made, deprecatedUses: [] } };
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
export async function revoke(tx: Tx, id: string, now: Date): Promise<RevokeResult> {
  const key = await tx.apiKey.findUnique({ where: { id } });
  if (key === null) return 'not_found';
  if (key.revokedAt !== null) return 'revoked';
  if (isLive(key, now) && (await isLastAdmin(tx, key, now))) return 'last_admin';
  await tx.apiKey.update({ where: { id }, data: { revokedAt: now } });
  return 'revoked';
}

/** Whether no other key that is live may manage keys, and this one may. */
async function isLastAdmin(tx: Tx, { id, scopes }: ApiKey, now: Date): Promise<boolean> {
  if (!scopes.includes('admin')) return false;
  const others = await tx.apiKey.count({
    where: {
      id: { not: id },
      scopes: { has: 'admin' },
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

/** When a key was last used. */
export type KeyUse = { readonly keyId: string; readonly usedAt: Date };
/** Calls of a deprecated operation that are to be added: how many, and when the last of them was. */
export type DeprecatedUses = KeyUse & { readonly operationId: string; readonly count: number };

/** What is known of the use of keys. Each call is one statement: all of `uses` is saved, or none. */
export type KeyUsageStore = {
  /** Moves the last use of each key forward, never back. A key that does not exist is passed over. */
  saveUses(uses: readonly KeyUse[]): Promise<void>;
  /** Adds to the counts. A key that does not exist is passed over. Each key and operation at most once in `uses`. */
  addDeprecated(uses: readonly DeprecatedUses[]): Promise<void>;
};

/** Several processes may save uses of the same keys at once: none is lost. */
export function createKeyUsageStore(prisma: PrismaClient): KeyUsageStore {
  return {
    async saveUses(uses) {
      // Locked in the order of their ids, so that two processes that save the same keys cannot deadlock.
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
