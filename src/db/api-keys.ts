/** Bearer keys at rest: a digest, scopes and an end, never the key. */
import type { ApiKey, Prisma, PrismaClient } from './generated/client.ts';
import {
  type RevokeResult,
  type Rotation,
  type RotationResult,
  revoke,
  rotate,
} from './key-rotation.ts';

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
