/** Answers to requests with an Idempotency-Key, kept for their replay. Written in the transaction of their effect. */
import { createHash } from 'node:crypto';
import { Prisma, type PrismaClient } from './generated/client.ts';

/** Identifies an attempt: another API key or another operation with the same Idempotency-Key makes another attempt. */
export type AttemptId = {
  readonly apiKeyId: string;
  readonly operationId: string;
  /** The Idempotency-Key, without the quotes that it may come in. */
  readonly key: string;
};

/** An answer as its replays are sent; what only the first one may show, such as a new key's token, is not in it. */
export type StoredAnswer = {
  /** SHA-256 of the request that was answered, so that another request with the same key is recognized. */
  readonly fingerprint: Uint8Array<ArrayBuffer>;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent byte by byte as it is; null where there was none. */
  readonly body: string | null;
};

/** Call all of it inside one transaction, `lock` first. */
export type IdempotentAnswerStore = {
  /** Takes the attempt until the transaction ends; false where another session has it. Never waits. */
  lock(id: AttemptId): Promise<boolean>;
  /** Null where there is no answer, or it has expired. */
  find(id: AttemptId, now: Date): Promise<StoredAnswer | null>;
  /** Rejects where there is an answer that has not expired. Also removes up to ten expired ones, of whichever key. */
  save(id: AttemptId, answer: StoredAnswer, now: Date, expiresAt: Date): Promise<void>;
};

/** Our choice: each save removes more than it adds, so a backlog shrinks, and none takes noticeably longer. */
const REMOVED_AT_ONCE = 10;

/** On embedded storage, where all callers share one session, `lock` excludes nobody. All times are the caller's clock. */
export function createIdempotentAnswerStore(prisma: PrismaClient): IdempotentAnswerStore {
  return {
    async lock(id) {
      const [row] = await prisma.$queryRaw<{ locked: boolean }[]>`
        SELECT pg_try_advisory_xact_lock(${lockOf(id)}::bigint) AS locked`;
      return row?.locked === true;
    },
    async find({ apiKeyId, operationId, key }, now) {
      const [row] = await prisma.$queryRaw<StoredAnswer[]>`
        SELECT fingerprint, status, headers, body FROM idempotent_answer
        WHERE api_key_id = ${apiKeyId} AND operation_id = ${operationId} AND key = ${key}
          AND expires_at > ${now.toISOString()}::timestamptz`;
      return row ?? null;
    },
    async save(id, answer, now, expiresAt) {
      const saved = await prisma.$executeRaw(insertion(id, answer, now, expiresAt));
      if (saved === 0) throw new Error('this attempt was answered by somebody else meanwhile');
    },
  };
}

/** SKIP LOCKED: who removes never waits for another who does. The row to be replaced is left to the insertion. */
function insertion(
  { apiKeyId, operationId, key }: AttemptId,
  { fingerprint, status, headers, body }: StoredAnswer,
  now: Date,
  expiresAt: Date,
) {
  // As text: the adapter sends a Date without its zone, and the session's may be another one.
  const [at, until] = [now.toISOString(), expiresAt.toISOString()];
  return Prisma.sql`
    WITH removed AS (
      DELETE FROM idempotent_answer WHERE (api_key_id, operation_id, key) IN (
        SELECT api_key_id, operation_id, key FROM idempotent_answer
        WHERE expires_at <= ${at}::timestamptz
          AND (api_key_id, operation_id, key) <> (${apiKeyId}, ${operationId}, ${key})
        ORDER BY expires_at LIMIT ${REMOVED_AT_ONCE} FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO idempotent_answer AS kept
      (api_key_id, operation_id, key, fingerprint, status, headers, body, expires_at)
    VALUES (${apiKeyId}, ${operationId}, ${key}, ${fingerprint}, ${status},
      ${JSON.stringify(headers)}::jsonb, ${body}, ${until}::timestamptz)
    ON CONFLICT (api_key_id, operation_id, key) DO UPDATE SET
      fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
      body = excluded.body, expires_at = excluded.expires_at
      WHERE kept.expires_at <= ${at}::timestamptz`;
}

/** Two attempts with the same 64 bits would answer each other 409 while they run: once in 10^19 pairs. */
function lockOf({ apiKeyId, operationId, key }: AttemptId): bigint {
  const identity = JSON.stringify([apiKeyId, operationId, key]);
  return createHash('sha256').update(identity).digest().readBigInt64BE();
}
