/** Bearer keys at rest: a digest, scopes and an end, never the key. */

import type { Tx } from './engine/transaction.ts';
import type { ApiKey, Prisma, PrismaClient } from './generated/client.ts';

type Digest = Uint8Array<ArrayBuffer>;
export type KeyRow = Pick<ApiKey, 'id' | 'digest' | 'scopes' | 'expiresAt' | 'revokedAt'>;
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

export type ApiKeyStore = {
  /**
   * The key that a token claims to be: the one with its id, else the one with its digest, as an operator's own key
   * has no id. Whether it is that key is for the caller to compare. Expired and revoked keys are found too.
   */
  find(claim: { readonly id: string | null; readonly digest: Digest }): Promise<KeyRow | null>;
  /** All of them, oldest first. */
  list(): Promise<KeyDetails[]>;
  get(id: string): Promise<KeyDetails | null>;
  create(key: NewKey): Promise<KeyDetails>;
  /** Stores the key unless there is one already; true where it was stored. Of several processes one wins. */
  createFirst(key: NewKey): Promise<boolean>;
  /** Makes this the key with this id, in place of the one before; one stored under another id stays as it is. */
  put(key: NewKey): Promise<void>;
  /** Gives a key a successor, and an end. One transaction (src/db/key-rotation.ts). */
  rotate(id: string, rotation: Rotation): Promise<RotationResult>;
  /** Ends a key now, unless nobody could manage keys any more. A revoked one stays as it is. One transaction. */
  revoke(id: string, now: Date): Promise<RevokeResult>;
};

/** Any number that no other advisory lock of the service uses: who decides by what other keys there are holds it. */
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

export function createApiKeyStore(prisma: PrismaClient): ApiKeyStore {
  /** READ COMMITTED, so that what is read after the lock is what was left by who held it before. */
  const locked = <T>(act: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> =>
    prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
      return act(tx);
    });
  return {
    async find({ id, digest }) {
      const select = authenticated;
      if (id === null) return prisma.apiKey.findUnique({ where: { digest }, select });
      // One statement whether there is such an id or not: the time tells nobody which ids exist.
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
  // Nothing of the key before is this one's: neither its end nor its uses.
  await tx.apiKey.deleteMany({ where: { id: key.id } });
  await tx.apiKey.create({ data: rowOf(key) });
}

function rowOf({ scopes, ...key }: NewKey) {
  return { ...key, scopes: [...scopes] };
}

/** What a key is replaced with; times of the successor follow from the key's own. */
export type Rotation = {
  readonly successor: { readonly id: string; readonly digest: Uint8Array<ArrayBuffer> };
  /** How long the key lives on beside its successor. */
  readonly graceMs: number;
  readonly now: Date;
};

export type RotationResult =
  | { readonly kind: 'rotated'; readonly successor: KeyDetails }
  | { readonly kind: 'not_found' | 'ended' | 'has_successor' | 'last_admin' }
  /** With this one there would be three. */
  | { readonly kind: 'predecessor_live'; readonly predecessorId: string; readonly endsAt: Date };

export type RevokeResult = 'revoked' | 'not_found' | 'last_admin';

/** Whether a key is accepted at this time. */
export function isLive(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/**
 * Stores a successor with the same name and scopes and as long a life, and ends the key after the grace, or at its
 * own end where that is sooner. The caller holds the lock of src/db/api-keys.ts.
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

/** A key that was made for 90 days gives one for 90 days. */
function sameLifeFrom(now: Date, { createdAt, expiresAt }: ApiKey): Date | null {
  if (expiresAt === null) return null;
  return new Date(now.getTime() + expiresAt.getTime() - createdAt.getTime());
}

/** Ends a key now. The caller holds the lock of src/db/api-keys.ts. */
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

/** However far back in the line: one between may have ended sooner. Each has an end, as each was rotated. */
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

export type KeyUse = { readonly keyId: string; readonly usedAt: Date };
export type DeprecatedUses = KeyUse & { readonly operationId: string; readonly count: number };

export type KeyUsageStore = {
  /** Moves the last use of each key forward, never back. A key that does not exist is passed over. */
  saveUses(uses: readonly KeyUse[]): Promise<void>;
  /** Adds to the counts. A key that does not exist is passed over. Each key and operation at most once in `uses`. */
  addDeprecated(uses: readonly DeprecatedUses[]): Promise<void>;
};

export function createKeyUsageStore(prisma: PrismaClient): KeyUsageStore {
  return {
    async saveUses(uses) {
      // Locked in the order of their ids: two processes that save the same keys wait for each other, in no circle.
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
