/** What becomes of a request that was admitted: it is read, validated, and run with its entry in the audit log. */
import { createHash } from 'node:crypto';
import type { Access } from '../../core/accounts/access.ts';
import type { InTurn } from '../../net/at-once.ts';
import type { IsSecret } from '../keys/auth.ts';
import { type Audit, leavesEntry, type Origin } from './audit.ts';
import { type BodyRead, readJson } from './body.ts';
import type { ApiResponse } from './errors.ts';
import { type Refusal, refuse } from './errors.ts';
import { type Idempotency, idempotencyKeyOf } from './idempotency.ts';
import type { ApiKeyIdentity, Headers } from './route.ts';
import type { Found } from './router.ts';

/** A request as a connection, or a page of the dashboard, brings it. */
export type Incoming = {
  /** As it came; methods are case-sensitive (RFC 9110, 9.1). */
  readonly method: string;
  /** The request target as it came: origin form or absolute form. */
  readonly target: string;
  readonly headers: Headers;
  /** Called at most once, and only where the body is wanted. Its bytes are bounded by who brings the request. */
  readonly readBody: () => Promise<BodyRead>;
  /** Of the connection; undefined where that is gone. */
  readonly remoteAddress: string | undefined;
  /** Of the dashboard: the id of the session whose page brings it, never what the session's cookie carries. */
  readonly sessionId?: string | undefined;
};

/** What running a request needs. */
export type PerformDeps = {
  readonly idempotency: Idempotency;
  /** What every change leaves an entry in. */
  readonly audit: Audit;
  /** Keeps API keys out of request ids and Idempotency-Keys, which are logged and stored. */
  readonly isSecret: IsSecret;
  /**
   * Whose turn what has a transaction is, by account: each has a connection to the database, and another account needs some,
   * too.
   */
  readonly inTurn: InTurn;
};

type RouteFound = Extract<Found, { kind: 'route' }>;
/** A request that was admitted, with its route. */
export type Passed = RouteFound & {
  readonly key: ApiKeyIdentity | null;
  readonly requestId: string;
};

/** Where a request comes from, for the audit log. */
export function originOf(
  { headers, remoteAddress, sessionId }: Incoming,
  requestId: string,
): Origin {
  return { headers, remoteAddress, requestId, sessionId };
}

/**
 * Reads and validates what was admitted, and runs it: once, where it brings an Idempotency-Key. Everything before `run` only
 * reads, so a refusal there leaves all as it was.
 */
export async function perform(
  deps: PerformDeps,
  raw: Incoming,
  passed: Passed,
): Promise<ApiResponse> {
  const { route, params, key, requestId } = passed;
  // What was removed answers before anything more of the request is read.
  const ended = route.ended?.() ?? null;
  if (ended !== null) return ended;
  const query = once(passed.query);
  if (!query.ok) return query.refusal;
  const body =
    route.body && (await readJson(raw.headers, raw.readBody, route.bodyIsOptional === true));
  if (body?.ok === false) return body.refusal;
  const prepared = route.prepare({
    params,
    query: query.value,
    headers: raw.headers,
    body: body?.value,
    key,
    requestId,
    remoteAddress: raw.remoteAddress,
  });
  if (!prepared.ok) return prepared.refusal;
  const ready = { run: prepared.run, bytes: body?.bytes };
  const carried = () => carryOut(deps, raw, passed, ready);
  const access = key?.access;
  const hasTransaction = route.method !== 'GET' || leavesEntry(route);
  const waits = hasTransaction && access?.kind === 'account';
  return waits ? deps.inTurn(access.accountId, carried) : carried();
}

type Ready = {
  readonly run: () => Promise<ApiResponse>;
  /** Of the body; undefined where the route takes none. */
  readonly bytes: Uint8Array | undefined;
};

/** Runs what was validated: with its entry in the audit log, and once, where it brings an Idempotency-Key. */
async function carryOut(
  deps: PerformDeps,
  raw: Incoming,
  { route, key, requestId }: Passed,
  ready: Ready,
): Promise<ApiResponse> {
  const isAudited = key !== null && leavesEntry(route);
  const run = isAudited
    ? () => deps.audit.perform({ route, key, origin: originOf(raw, requestId) }, ready.run)
    : ready.run;
  if (route.method === 'POST' && key !== null) {
    const given = idempotencyKeyOf(raw.headers, deps.isSecret);
    if (!given.ok) return given.refusal;
    if (given.key !== null) {
      const fingerprint = fingerprintOf(raw, key.access, ready.bytes);
      const { operationId } = route;
      const attempt = { apiKeyId: asks(key), operationId, key: given.key, fingerprint };
      let own: ApiResponse | null = null;
      const answered = await deps.idempotency(attempt, async () => {
        own = await run();
        return own;
      });
      // A refusal goes on as the handler gave it: the audit log reads its code, and its text is the same.
      return refusalIn(own) ?? answered;
    }
  }
  // What leaves no entry has been committed by each store for itself by the time that the handler answers.
  const answer = isAudited ? await deps.audit.atomically(run) : await run();
  await answer.afterCommit?.();
  return answer;
}

function refusalIn(answer: ApiResponse | null): ApiResponse | null {
  return answer !== null && answer.status >= 400 && answer.status < 500 ? answer : null;
}

/** Whose Idempotency-Keys they are: the key's, or its own for each account that it acts for. */
function asks({ id, access, actsFor }: ApiKeyIdentity): string {
  return actsFor === true && access.kind === 'account' ? `${id} ${access.accountId}` : id;
}

/** SHA-256 of the method, the target, the account and the body, byte by byte: what makes a request the same request. */
function fingerprintOf(
  { method, target }: Incoming,
  access: Access,
  body: Uint8Array = new Uint8Array(),
) {
  // Nothing for the installation: answers that were stored before accounts are replayed still.
  const account = access.kind === 'account' ? ` ${access.accountId}` : '';
  const line = `${method} ${target}${account}\n`;
  const digest = createHash('sha256').update(line).update(body).digest();
  return new Uint8Array(digest);
}

/** The parameters by name, or why they are refused. */
type Query =
  | { readonly ok: true; readonly value: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly refusal: Refusal };

/** Refuses a parameter that is given twice, because clients and servers differ in which value counts. */
function once(query: URLSearchParams): Query {
  const seen = new Set<string>();
  for (const name of query.keys()) {
    if (!seen.has(name)) seen.add(name);
    else return { ok: false, refusal: refuse('invalid_query', `${name}: is given more than once`) };
  }
  return { ok: true, value: Object.fromEntries(query) };
}
