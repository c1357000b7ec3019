/** Stores responses to requests with an Idempotency-Key, in the transaction of their effect. */
import { createHash } from 'node:crypto';
import { Prisma, type PrismaClient } from './generated/client.ts';

/** The same Idempotency-Key with another API key or operation is a different attempt. */
export type AttemptId = {
  readonly apiKeyId: string;
  readonly operationId: string;
  /** Without surrounding quotes. */
  readonly key: string;
};

/** Without secrets that are shown only once, such as a new key's token. */
export type StoredAnswer = {
  /** SHA-256 of the request, to detect a different request with the same key. */
  readonly fingerprint: Uint8Array<ArrayBuffer>;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent unchanged. */
  readonly body: string | null;
};

/** Call these inside one transaction, `lock` first. */
export type IdempotentAnswerStore = {
  /** Until the transaction ends; false if another session has it. Never waits. */
  lock(id: AttemptId): Promise<boolean>;
  /** Null also if it has expired. */
  find(id: AttemptId, now: Date): Promise<StoredAnswer | null>;
  /** Rejects if there is an unexpired response. Also deletes up to ten expired ones, of any key. */
  save(id: AttemptId, answer: StoredAnswer, now: Date, expiresAt: Date): Promise<void>;
};

/** More than one, so a backlog shrinks, but few enough to keep saves fast. */
const REMOVED_AT_ONCE = 10;

/** On embedded storage, `lock` excludes no other caller. Times come from the caller's clock. */
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
      if (saved === 0) throw new Error('another request has already answered this attempt');
    },
  };
}

/** SKIP LOCKED: concurrent deletes never wait. The insertion handles the row to replace. */
function insertion(
  { apiKeyId, operationId, key }: AttemptId,
  { fingerprint, status, headers, body }: StoredAnswer,
  now: Date,
  expiresAt: Date,
) {
  // As text: the adapter sends a Date without its zone, and the session's can differ.
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

/** A collision of 64 bits would only answer 409 while both attempts run. */
function lockOf({ apiKeyId, operationId, key }: AttemptId): bigint {
  const identity = JSON.stringify([apiKeyId, operationId, key]);
  return createHash('sha256').update(identity).digest().readBigInt64BE();
}
