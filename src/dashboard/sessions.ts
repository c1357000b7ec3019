/** Sessions: begun by signing in, found by a cookie, ended everywhere within 5 s. */
import { LRUCache } from 'lru-cache';
import { type Plan, plans } from '../core/records.ts';
import type { OpenSession, SessionStore } from '../db/sessions.ts';
import type { TextStream } from '../http/pipeline/errors.ts';
import { accountScopes, type Scope, scopes } from '../http/pipeline/route.ts';
import { digestOfToken, isToken, openKey } from './sealed-keys.ts';
import type { Session } from './session.ts';
import { type ActsDeps, createSessionActs, type SessionActs } from './session-acts.ts';
import { createStreamEnds } from './stream-ends.ts';

/** The sessions of an installation, as one process sees them. What asks the store rejects where that fails. */
export type Sessions = SessionActs & {
  /** The session of a cookie's token. Null: there is none, it has ended, or it is not ours. */
  readonly find: (token: string | undefined) => Promise<Session | null>;
  /** Has this process read a session again, and ends its streams: it was ended by somebody else. */
  readonly forget: (sessionId: string) => void;
  /** The stream, which also ends when the session does: within 5 s. */
  readonly bind: (session: Session, stream: TextStream) => TextStream;
  /** Stops the timer. Streams stay as they are. */
  readonly close: () => void;
};

/** What sessions are made of. */
export type SessionsDeps = ActsDeps & {
  readonly log: { warn(fields: Readonly<Record<string, unknown>>, message: string): void };
  /** Those that a key of an account may put a project on. */
  readonly accountPlans: readonly Plan[];
};

const REMEMBERED_MS = 5_000; // as long as a key is (src/http/keys/auth.ts)
const REMEMBERED_MAX = 10_000;

/** Rows are remembered for 5 s, without what the token opens. What is no token of ours costs no query. */
export function createSessions(deps: SessionsDeps): Sessions {
  const { store, secret, now, log, accountPlans } = deps;
  const rows = createKnownRows(store, now);
  const streams = createStreamEnds({ amongOpen: (ids) => store.amongOpen(ids, now()), log });

  function forget(sessionId: string): void {
    rows.forget(sessionId);
    streams.end(sessionId);
  }

  return {
    ...createSessionActs(deps, forget),
    async find(token) {
      if (token === undefined || !isToken(secret, token)) return null;
      const row = await rows.find(digestOfToken(token));
      if (row === null || row.expiresAt <= now()) return null;
      const opened = openKey(secret, token, row.sealedKey);
      return opened && { ...opened, ...sessionOf(row, accountPlans) };
    },
    forget,
    bind: ({ id }, stream) => streams.bind(id, stream),
    close: streams.close,
  };
}

/** `row` null: the session has ended. A token of ours that was not found is never found again. */
type Known = { readonly since: number; readonly row: OpenSession | null };

/** The rows of sessions by the digests of their tokens, none of them older than 5 s. */
function createKnownRows(store: Pick<SessionStore, 'find'>, now: () => Date) {
  const known = new LRUCache<string, Known>({ max: REMEMBERED_MAX });
  let forgotten = 0; // grows with each: what was read before may be older than what is to be forgotten
  return {
    async find(digest: Uint8Array<ArrayBuffer>): Promise<OpenSession | null> {
      const name = Buffer.from(digest).toString('base64');
      const at = now().getTime();
      const hit = known.get(name);
      if (hit !== undefined && at >= hit.since && at - hit.since < REMEMBERED_MS) return hit.row;
      const before = forgotten;
      const row = await store.find(digest, new Date(at));
      if (before === forgotten) known.set(name, { since: at, row });
      return row;
    },
    forget(sessionId: string): void {
      forgotten += 1;
      for (const [name, { row }] of [...known.entries()]) {
        if (row?.id === sessionId) known.delete(name);
      }
    },
  };
}

function sessionOf(
  row: OpenSession,
  accountPlans: readonly Plan[],
): Omit<Session, 'apiKey' | 'csrf'> {
  const { id, apiKeyId: keyId, keyName, expiresAt, account, keyAccountId, projectIds } = row;
  return {
    id,
    keyId,
    keyName,
    expiresAt,
    account,
    scopes: impliedBy(row.scopes, account === null ? scopes : accountScopes),
    plans: account === null ? plans : accountPlans,
    isInstallation: keyAccountId === null,
    isRestricted: projectIds.length > 0,
  };
}

/** Those of `all` that a key has; `admin` has every one. */
function impliedBy(held: readonly string[], all: readonly Scope[]): readonly Scope[] {
  return held.includes('admin') ? all : all.filter((scope) => held.includes(scope));
}
