/** When keys were last used, and how often for what is deprecated: gathered by src/http/keys/key-usage.ts, one statement for many. */
import type { PrismaClient } from './generated/client.ts';

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
