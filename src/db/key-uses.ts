import type { PrismaClient } from './generated/client.ts';

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
