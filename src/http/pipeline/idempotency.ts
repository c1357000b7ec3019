/**
 * Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a repeated POST takes effect once
 * and gets the same response. Effect and response are committed together, so a crash leaves both or
 * neither.
 */

import type { Transact } from '../../db/engine/transaction.ts';
import type {
  AttemptId,
  IdempotentAnswerStore,
  StoredAnswer,
} from '../../db/idempotent-answers.ts';
import { renderJson } from '../../net/json.ts';
import type { IsSecret } from '../keys/auth.ts';
import type { ApiResponse } from './errors.ts';
import { type Refusal, refuse } from './errors.ts';
import type { Headers } from './route.ts';

/** A request with an Idempotency-Key. The key's scope is one API key and one operation. */
export type IdempotentRequest = AttemptId & {
  /** SHA-256 over method, path, query and body: equal for repeated requests. */
  readonly fingerprint: Uint8Array<ArrayBuffer>;
};

/**
 * Runs a request once and answers repetitions with the stored response, marked
 * `idempotency-replayed: true`. Errors below 500 except 429 are stored too, and their changes are
 * rolled back. Rejects with the exceptions of `run` and of the database, which roll everything
 * back.
 */
export type Idempotency = (
  attempt: IdempotentRequest,
  run: () => Promise<ApiResponse>,
) => Promise<ApiResponse>;

/** `answers` joins the transactions of `transact`. */
export type IdempotencyDeps = {
  /** Wraps all writes of the handlers' stores. */
  readonly transact: Transact;
  readonly answers: IdempotentAnswerStore;
  readonly now: () => Date;
};

/** The draft does not define it (section 2.3). A day is common; docs/integrate/api.md documents it. */
export const ANSWERS_KEPT_MS = 24 * 3_600_000;

/** Several services use this header name. */
const REPLAYED = { 'idempotency-replayed': 'true' } as const;

/**
 * Answers 409 at once while the same attempt runs in any process, and 422 to a different request
 * with its key. `afterCommit` runs after the commit, and not for a replay.
 */
export function createIdempotency({ transact, answers, now }: IdempotencyDeps): Idempotency {
  // In addition to the lock in the database: embedded storage has one session, so its locks do not
  // exclude anything.
  const running = new Set<string>();

  /** Runs inside the transaction that commits effect and response. */
  async function once(
    attempt: IdempotentRequest,
    run: () => Promise<ApiResponse>,
  ): Promise<ApiResponse> {
    if (!(await answers.lock(attempt))) return inUse();
    const kept = await answers.find(attempt, now());
    if (kept !== null) return replay(attempt, kept);
    const answer = await runOrUndo(transact, run);
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

/**
 * Rolls back the changes of a refused request, or a failed statement before it, with a nested
 * transaction. The response itself is still stored.
 */
async function runOrUndo(
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

/**
 * Whether a response is stored. Rate limiting and server errors are not, because they can differ a
 * moment later.
 */
function isKept({ status }: ApiResponse): boolean {
  return status !== 429 && status < 500;
}

/**
 * The response as sent and as stored. It is rendered once, so a replay is byte for byte the same.
 */
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

/** The stored response, or 422 if it belongs to a different request. */
function replay({ fingerprint }: IdempotentRequest, kept: StoredAnswer): ApiResponse {
  if (!Buffer.from(fingerprint).equals(kept.fingerprint)) return refuse('idempotency_key_reused');
  const { status, headers, body } = kept;
  return { status, headers: { ...headers, ...REPLAYED }, ...(body !== null && { text: body }) };
}

/** 409 while the first attempt runs. */
function inUse(): Refusal {
  return refuse('idempotency_key_in_use', undefined, { 'retry-after': '1' });
}

/** The key of a request, null if there is none, or the error for an invalid one. */
export type IdempotencyKey =
  | { readonly ok: true; readonly key: string | null }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the header: 1 to 255 printable ASCII characters, quoted or not. `"abc"`, as the draft
 * specifies, and `abc` are the same key. Refuses an API key sent in this header, and an unquoted
 * key with a comma. Never throws.
 */
export function idempotencyKeyOf(headers: Headers, isSecret: IsSecret): IdempotencyKey {
  const value = headers['idempotency-key'];
  if (value === undefined) return { ok: true, key: null };
  const key = value.startsWith('"') ? unquoted(value) : value;
  // The key is stored as plain text, so an API key in the wrong header must be refused.
  if (key !== null && /^[\x20-\x7e]{1,255}$/.test(key) && !isSecret(key, headers)) {
    // Two header lines arrive joined by a comma (RFC 9110, 5.3), which would be ambiguous.
    if (key !== value || !key.includes(',')) return { ok: true, key };
    return no('Idempotency-Key must be one key. Quote a key that contains a comma.');
  }
  return no();
}

/** A string of structured fields (RFC 9651, 3.3.3); null if it is not one or text follows it. */
function unquoted(value: string): string | null {
  return /^"(?:[^"\\]|\\["\\])*"$/.test(value)
    ? value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
    : null;
}

function no(message?: string): IdempotencyKey {
  return { ok: false, refusal: refuse('invalid_idempotency_key', message) };
}
