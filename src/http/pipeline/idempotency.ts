/**
 * Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a POST that is sent again has its effect once and its
 * answer every time. Effect and answer are committed together, so a crash leaves both or neither.
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

/** One request with an Idempotency-Key. The key is that of one API key and one operation: others may use the same text. */
export type Attempt = AttemptId & {
  /** SHA-256 over method, path, query and body bytes: what makes it the same request. */
  readonly fingerprint: Uint8Array<ArrayBuffer>;
};

/**
 * Runs a request once, and answers its repetitions with the answer of the first, marked `idempotency-replayed: true`. A
 * refusal below 500 but 429 is kept, too, and what it did is undone. Rejects with the faults of `run` and of the database,
 * which undo everything.
 */
export type Idempotency = (
  attempt: Attempt,
  run: () => Promise<ApiResponse>,
) => Promise<ApiResponse>;

/** What idempotency is made of; `answers` joins the transactions of `transact`. */
export type IdempotencyDeps = {
  /** Around everything that the handlers' stores do meanwhile. */
  readonly transact: Transact;
  readonly answers: IdempotentAnswerStore;
  readonly now: () => Date;
};

/** The draft leaves it open (section 2.3); a day is what most services keep. docs/api.md publishes it. */
export const ANSWERS_KEPT_MS = 24 * 3_600_000;

/** Our choice, as several services have it: the answer is that of an earlier request. */
const REPLAYED = { 'idempotency-replayed': 'true' } as const;

/**
 * Answers 409 at once while the same attempt runs, in this process or another one, and 422 to another request with its key.
 * `afterCommit` of an answer runs after the commit; it does not run again for a replay.
 */
export function createIdempotency({ transact, answers, now }: IdempotencyDeps): Idempotency {
  // Beside the lock in the database: embedded storage has one session, whose locks exclude nobody, and runs one transaction
  // after the other.
  const running = new Set<string>();

  /** Runs inside the transaction that ends with the commit of effect and answer. */
  async function once(attempt: Attempt, run: () => Promise<ApiResponse>): Promise<ApiResponse> {
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
 * Undoes what a refused request did, and a statement that failed on the way to the refusal, by a transaction of its own:
 * inside another one, where the refusal itself is still stored.
 */
export async function runOrUndo(
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

/** Whether an answer is replayed. Not what may be different in a moment: too many requests, and faults of ours. */
function isKept({ status }: ApiResponse): boolean {
  return status !== 429 && status < 500;
}

/**
 * The answer as it is sent and as it is stored. It is rendered once, so that an answer and its replay are the same bytes.
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

/** The stored answer, or 422 where it was for another request. */
function replay({ fingerprint }: Attempt, kept: StoredAnswer): ApiResponse {
  if (!Buffer.from(fingerprint).equals(kept.fingerprint)) return refuse('idempotency_key_reused');
  const { status, headers, body } = kept;
  return { status, headers: { ...headers, ...REPLAYED }, ...(body !== null && { text: body }) };
}

/** 409 while the first attempt runs; by the time a client comes back it has most often ended. */
function inUse(): Refusal {
  return refuse('idempotency_key_in_use', undefined, { 'retry-after': '1' });
}

/** The key of a request, null where it brings none, or the refusal of one that does not fit. */
export type IdempotencyKey =
  | { readonly ok: true; readonly key: string | null }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads the header: 1 to 255 printable ASCII characters, in quotes or not. `"abc"`, as the draft has it, and `abc` are the
 * same key. Refuses an API key in the wrong header, and a bare key with a comma. Never throws.
 */
export function idempotencyKeyOf(headers: Headers, isSecret: IsSecret): IdempotencyKey {
  const value = headers['idempotency-key'];
  if (value === undefined) return { ok: true, key: null };
  const key = value.startsWith('"') ? unquoted(value) : value;
  // It is stored as it is, so a key that slipped into the wrong header must not be.
  if (key !== null && /^[\x20-\x7e]{1,255}$/.test(key) && !isSecret(key, headers)) {
    // Two header lines arrive joined by a comma (RFC 9110, 5.3), and which one would count?
    if (key !== value || !key.includes(',')) return { ok: true, key };
    return no('Idempotency-Key must be one key; put a key with a comma into quotes.');
  }
  return no();
}

/** A string of structured fields (RFC 9651, 3.3.3), or null where it is none or something follows it. */
function unquoted(value: string): string | null {
  return /^"(?:[^"\\]|\\["\\])*"$/.test(value)
    ? value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
    : null;
}

function no(message?: string): IdempotencyKey {
  return { ok: false, refusal: refuse('invalid_idempotency_key', message) };
}
