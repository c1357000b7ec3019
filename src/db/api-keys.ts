/** Bearer keys at rest: a digest, scopes and an end, never the key. */
import type { PrismaClient } from './generated/client.ts';

type Digest = Uint8Array<ArrayBuffer>;
export type KeyRow = {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
};
export type NewKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Digest;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt?: Date;
};

export type ApiKeyStore = {
  /** Expired and revoked keys are found too. */
  find(digest: Digest): Promise<KeyRow | null>;
  create(key: NewKey): Promise<void>;
  /** Stores the key unless there is one already; true where it was stored. Of several processes one wins. */
  createFirst(key: NewKey): Promise<boolean>;
  /** Makes this the key with this id, in place of the one before; one stored under another id stays as it is. */
  put(key: NewKey): Promise<void>;
};

const LOCK = 7_367_001; // any number that no other advisory lock of the service uses

export function createApiKeyStore(prisma: PrismaClient): ApiKeyStore {
  return {
    find: (digest) =>
      prisma.apiKey.findUnique({
        where: { digest },
        select: { id: true, scopes: true, expiresAt: true, revokedAt: true },
      }),
    async create(key) {
      await prisma.apiKey.create({ data: rowOf(key) });
    },
    createFirst: (key) =>
      prisma.$transaction(async (tx) => {
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
        if ((await tx.apiKey.count()) > 0) return false;
        await tx.apiKey.create({ data: rowOf(key) });
        return true;
      }),
    put: (key) =>
      prisma.$transaction(async (tx) => {
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(${LOCK}::bigint)`;
        // A key that is known stays as it is: a restart must not bring a revoked one back.
        if ((await tx.apiKey.count({ where: { digest: key.digest } })) > 0) return;
        const row = { ...rowOf(key), revokedAt: null };
        await tx.apiKey.upsert({ where: { id: key.id }, create: row, update: row });
      }),
  };
}

function rowOf({ scopes, ...key }: NewKey) {
  return { ...key, scopes: [...scopes] };
}
