/** When keys were last used, and for what that will be removed. */
import type { PrismaClient } from './generated/client.ts';

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
