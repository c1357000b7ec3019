/**
 * The audit log of the API: what changes something leaves one entry, in the transaction of its effect, so that a crash leaves
 * both or neither. Nothing of a body, a query or a header is in it but what `Doer` names.
 */
import { LRUCache } from 'lru-cache';
import {
  type AuditedKind,
  type AuditOutcome,
  type Doer,
  type Subject,
  userAgentIn,
} from '../../core/operations/audit.ts';
import type { AuditPlace, AuditStore } from '../../db/audit.ts';
import type { Transact } from '../../db/engine/transaction.ts';
import type { IsSecret } from '../keys/auth.ts';
import type { ApiResponse, ErrorCode } from './errors.ts';
import { runOrUndo } from './idempotency.ts';
import type { ApiKeyIdentity, Headers, Route } from './route.ts';

/** A request as far as the log takes it: where it comes from, and what it is called. */
export type Origin = {
  readonly headers: Headers;
  /** Of the connection; undefined where that is gone. */
  readonly remoteAddress: string | undefined;
  readonly requestId: string;
  /** Of the dashboard, whose page brings the request; its id, never what its cookie carries. */
  readonly sessionId?: string | undefined;
};

/** Who acts: a key, by its id and its account. */
export type Person = Pick<Doer, 'keyId' | 'byInstallation'> & { readonly accountId: string | null };

/** One request to an operation. */
export type Audited = {
  readonly route: Pick<Route, 'operationId' | 'audits'>;
  readonly key: ApiKeyIdentity;
  readonly origin: Origin;
};

/** What somebody does outside of the API's operations. */
export type Act = { readonly operationId: string; readonly object: Subject };
/** How an act ended; `code` says why it did not succeed. */
export type Ending = { readonly outcome: AuditOutcome; readonly code: string | null };

/** Writes entries; where one cannot be written, nothing is done, and the call rejects. */
export type Audit = {
  /**
   * Runs an operation and, where it succeeds and there was something to change, writes its entry. To be called in the transaction that commits both: of its
   * Idempotency-Key, or `atomically`.
   */
  perform(asked: Audited, run: () => Promise<ApiResponse>): Promise<ApiResponse>;
  /** Runs an operation in a transaction; a refusal undoes what it did. */
  atomically(run: () => Promise<ApiResponse>): Promise<ApiResponse>;
  /**
   * Writes an entry where a key was refused what it may not do, once a minute for the same operation and code; for any other
   * answer it does nothing.
   */
  refused(asked: Audited, answer: ApiResponse): Promise<void>;
  /** Writes an entry about what is done: a sign-in, a sign-out. Joins a transaction of its caller. */
  note(who: Person, origin: Origin, act: Act): Promise<void>;
  /**
   * For an effect that no transaction of ours has: the entry is written first, as `unknown`, and says afterwards how it ended.
   * Where the process dies between, it stays so. Rejects with the faults of `run`.
   */
  around<T>(
    what: { readonly who: Person; readonly origin: Origin; readonly act: Act },
    run: () => Promise<T>,
    endingOf: (result: T) => Ending,
  ): Promise<T>;
};

/** What the log is written with. */
export type AuditDeps = {
  readonly store: Pick<AuditStore, 'record' | 'settle'>;
  readonly transact: Transact;
  /** The client's address as limits see it, not its group. */
  addressOf(remoteAddress: string | undefined, headers: Headers): string;
  /** Keeps API keys out of the user agent, which a client chooses. */
  readonly isSecret: IsSecret;
  now(): Date;
};

/**
 * Refusals that say what a key may not do. Any other refusal is about the thing or the moment; and without a key (401) there
 * is nobody to name, and anybody could fill the log.
 */
const denials: ReadonlySet<string> = new Set([
  'insufficient_scope',
  'installation_only',
  'restricted_key',
  'account_not_found',
] satisfies readonly ErrorCode[]);

const REFUSED_ONCE_MS = 60_000; // our choice, in each process
const REFUSALS_MAX = 10_000;

/** Whether an operation leaves entries. */
export function leavesEntry({ audits }: Pick<Route, 'audits'>): boolean {
  return audits !== undefined && audits !== null;
}

/** The log over a store whose client joins the transactions of `transact`. */
export function createAudit({ store, transact, addressOf, isSecret, now }: AuditDeps): Audit {
  const doerOf = (who: Pick<Person, 'keyId' | 'byInstallation'>, origin: Origin): Doer => {
    const { headers, remoteAddress, requestId, sessionId = null } = origin;
    const userAgent = userAgentIn(headers['user-agent']);
    return {
      keyId: who.keyId,
      byInstallation: who.byInstallation,
      sessionId,
      address: addressOf(remoteAddress, headers),
      userAgent: userAgent !== null && isSecret(userAgent, headers) ? null : userAgent,
      requestId,
    };
  };
  const refusals = new LRUCache<string, number>({ max: REFUSALS_MAX });
  const record = (who: Person, origin: Origin, act: Act, ending: Ending): Promise<AuditPlace> =>
    store.record({ ...doerOf(who, origin), ...act, ...ending, at: now() });

  return {
    async perform({ route, key, origin }, run) {
      const answer = await run();
      if (answer.status >= 400) return answer;
      const { operationId } = route;
      const object = subjectOf(answer, operationId);
      if (object === null) return answer;
      await record(personOf(key), origin, { operationId, object }, done);
      return answer;
    },
    atomically: (run) => runOrUndo(transact, run),
    async refused({ route, key, origin }, answer) {
      const code = codeOf(answer);
      if (code === null || !denials.has(code) || !leavesEntry(route)) return;
      const who = personOf(key);
      const denial = `${key.id} ${who.accountId} ${route.operationId} ${code}`;
      const at = now().getTime();
      // A key that is refused the same again and again must not fill the table.
      if (at - (refusals.get(denial) ?? Number.NEGATIVE_INFINITY) < REFUSED_ONCE_MS) return;
      refusals.set(denial, at);
      // Nothing of the path: nobody has found out whether there is such an object, or whose it is.
      const object = { kind: kindOf(route), id: null, accountId: who.accountId };
      const ending = { outcome: 'refused', code } as const;
      const { operationId } = route;
      await store.record({ ...doerOf(who, origin), operationId, object, ...ending, at: now() });
    },
    async note(who, origin, act) {
      await record(who, origin, act, done);
    },
    async around({ who, origin, act }, run, endingOf) {
      const place = await record(who, origin, act, { outcome: 'unknown', code: null });
      let ending: Ending = { outcome: 'failed', code: 'internal_error' };
      try {
        const result = await run();
        ending = endingOf(result);
        return result;
      } finally {
        await store.settle(place, ending.outcome, ending.code);
      }
    },
  };
}

const done: Ending = { outcome: 'done', code: null };

/** The account is the one that the key acts for; null for the installation. */
function personOf({ id, access, actsFor }: ApiKeyIdentity): Person {
  const accountId = access.kind === 'account' ? access.accountId : null;
  return { keyId: id, accountId, byInstallation: accountId === null || actsFor === true };
}

/** The type of a route has its handler say it. */
function subjectOf({ about }: ApiResponse, operationId: string): Subject | null {
  if (about === undefined) throw new Error(`${operationId} does not say what it changed`);
  return about;
}

function kindOf({ audits }: Pick<Route, 'audits'>): AuditedKind {
  return audits ?? 'installation';
}

/** The code of a refusal or a fault; null where the answer is neither, or was kept for an Idempotency-Key. */
function codeOf({ body }: ApiResponse): string | null {
  const isError = typeof body === 'object' && body !== null && 'code' in body && 'status' in body;
  return isError && typeof body.code === 'string' ? body.code : null;
}
