/**
 * Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07). Effect and response are committed
 * together, so a crash leaves both or neither.
 */

import { DAY } from '../../core/time.ts';
import { createTransact, type Transact } from '../../db/engine/transaction.ts';
import {
  type AttemptId,
  createIdempotentAnswerStore,
  type StoredAnswer,
} from '../../db/idempotent-answers.ts';
import { renderJson } from '../../net/json.ts';
import type { Service } from '../../service/service.ts';
import type { IsSecret } from '../keys/auth.ts';
import type { ApiResponse } from './errors.ts';
import { type Refusal, refuse } from './errors.ts';
import type { Headers } from './route.ts';

/** The key is scoped to one API key and one operation. */
export type IdempotentRequest = AttemptId & {
  /** SHA-256 over method, path, query and body. */
  readonly fingerprint: Uint8Array<ArrayBuffer>;
};

/**
 * Errors below 500 except 429 are stored too; their changes are rolled back. Exceptions of `run`
 * and of the database roll everything back.
 */
export type Idempotency = (
  attempt: IdempotentRequest,
  run: () => Promise<ApiResponse>,
) => Promise<ApiResponse>;

/** The draft defines no lifetime (section 2.3). docs/integrate/api.md documents this one. */
export const ANSWERS_KEPT_MS = DAY;

/** Several services use this header name. */
const REPLAYED = { 'idempotency-replayed': 'true' } as const;

/** 409 while the same attempt runs in any process; 422 for a different request with its key. */
export function createIdempotency({
  database,
  now,
}: Pick<Service, 'database' | 'now'>): Idempotency {
  const transact = createTransact(database.prisma);
  const answers = createIdempotentAnswerStore(database.prisma);
  // Embedded storage has one database session, so its locks exclude nothing.
  const running = new Set<string>();

  async function once(
    attempt: IdempotentRequest,
    run: () => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    if (!(await answers.lock(attempt))) return inUse();
    const kept = await answers.find(attempt, now());
    if (kept !== null) return replay(attempt, kept);
    const answer = await undoRefused(transact, run);
    const { sent, stored } = rendered(answer);
    if (isKept(answer)) {
      const at = now();
      const until = new Date(at.getTime() + ANSWERS_KEPT_MS);
      await answers.save(attempt, { ...stored, fingerprint: attempt.fingerprint }, at, until);
    }
    return sent;
  }

  return async (attempt, run) => {
    const name = JSON.stringify([attempt.apiKeyId, attempt.operationId, attempt.key]);
    if (running.has(name)) return inUse();
    running.add(name);
    let answer: ApiResponse;
    try {
      answer = await transact(() => once(attempt, run));
    } finally {
      running.delete(name);
    }
    const { afterCommit, ...sent } = answer;
    await afterCommit?.();
    return sent;
  };
}

/** One transaction, nested in the caller's: a refused request changes nothing. */
export async function undoRefused(
  transact: Transact,
  run: () => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const undo = new Error('undone: the request was refused');
  let answer: ApiResponse | undefined;
  try {
    return await transact(async () => {
      answer = await run();
      if (answer.status >= 400) throw undo;
      return answer;
    });
  } catch (fault) {
    if (fault !== undo || answer === undefined) throw fault;
    return answer;
  }
}

/** Rate limiting and server errors can differ a moment later, so they are not stored. */
function isKept({ status }: ApiResponse): boolean {
  return status !== 429 && status < 500;
}

/** Rendered once, so replays are identical byte for byte. */
function rendered({ body, replayBody, ...answer }: ApiResponse): {
  readonly sent: ApiResponse;
  readonly stored: Omit<StoredAnswer, 'fingerprint'>;
} {
  const text = answer.text ?? textOf(body);
  const { status, headers = {} } = answer;
  return {
    sent: text === undefined ? answer : { ...answer, text },
    stored: { status, headers, body: textOf(replayBody) ?? text ?? null },
  };
}

function textOf(body: unknown): string | undefined {
  return body === undefined ? undefined : renderJson(body);
}

/** 422 if the stored response belongs to a different request. */
function replay({ fingerprint }: IdempotentRequest, kept: StoredAnswer): ApiResponse {
  if (!Buffer.from(fingerprint).equals(kept.fingerprint)) return refuse('idempotency_key_reused');
  const { status, headers, body } = kept;
  return { status, headers: { ...headers, ...REPLAYED }, ...(body !== null && { text: body }) };
}

function inUse(): Refusal {
  return refuse('idempotency_key_in_use', undefined, { 'retry-after': '1' });
}

export type IdempotencyKey =
  | { readonly ok: true; readonly key: string | null }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * 1 to 255 printable ASCII characters. `"abc"` (the draft's syntax) and `abc` are the same key.
 * Refuses API keys, because the value is stored as plain text. Never throws.
 */
export function idempotencyKeyOf(headers: Headers, isSecret: IsSecret): IdempotencyKey {
  const value = headers['idempotency-key'];
  if (value === undefined) return { ok: true, key: null };
  const key = value.startsWith('"') ? unquoted(value) : value;
  if (key !== null && /^[\x20-\x7e]{1,255}$/.test(key) && !isSecret(key, headers)) {
    // Two header lines arrive joined by a comma (RFC 9110, 5.3), which would be ambiguous.
    if (key !== value || !key.includes(',')) return { ok: true, key };
    return no('Idempotency-Key must be one key. Quote a key that contains a comma.');
  }
  return no();
}

/** A string of structured fields (RFC 9651, 3.3.3); otherwise null. */
function unquoted(value: string): string | null {
  return /^"(?:[^"\\]|\\["\\])*"$/.test(value)
    ? value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
    : null;
}

function no(message?: string): IdempotencyKey {
  return { ok: false, refusal: refuse('invalid_idempotency_key', message) };
}
