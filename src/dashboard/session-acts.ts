/** What people do with sessions: each act is in the audit log, in the transaction of its effect. */
import { randomUUID } from 'node:crypto';
import type { Subject } from '../core/operations/audit.ts';
import type { Transact } from '../db/engine/transaction.ts';
import type { SessionStore } from '../db/sessions.ts';
import type { Audit, Origin } from '../http/pipeline/audit.ts';
import { newToken, sealKey } from './sealed-keys.ts';
import type { Session } from './session.ts';

/** Who signs in, for people who look through their sessions. Each is cut to what may be kept. */
export type Visitor = { readonly userAgent: string; readonly address: string };

/** A key that the API has accepted, with its token; `accountId` null: one of the installation's. */
export type SignedInKey = {
  readonly id: string;
  readonly token: string;
  readonly accountId: string | null;
};

/** Each rejects where the store fails, or its entry cannot be written; then nothing has changed. */
export type SessionActs = {
  /** Begins a session of 12 hours for a key that the API has accepted; gives the token for the cookie. */
  readonly begin: (key: SignedInKey, visitor: Visitor, from: Origin) => Promise<string>;
  /**
   * Has the session of an installation's key show one account, or all of them (null), under another token, which it gives;
   * null where the session has ended meanwhile. The token of before is worth nothing from then on.
   */
  readonly actFor: (
    session: Session,
    accountId: string | null,
    from: Origin,
  ) => Promise<string | null>;
  /** Ends it for who signs out: in this process at once, in every other within 5 s. */
  readonly signOut: (session: Session, from: Origin) => Promise<void>;
  /** The same of every session of the key that this one was begun with. */
  readonly signOutEverywhere: (session: Session, from: Origin) => Promise<void>;
  /** Ends it where its key is accepted no more. Nobody's act: it leaves no entry. */
  readonly end: (session: Session) => Promise<void>;
};

/** What the acts are made of. */
export type ActsDeps = {
  readonly store: SessionStore;
  /** Around what `store` and `note` do. */
  readonly transact: Transact;
  readonly note: Audit['note'];
  /** 32 bytes, the same in every process: `session` of src/certificates/vault/derived-secrets.ts. */
  readonly secret: Uint8Array;
  readonly now: () => Date;
};

/** In seconds. Our choice: a working day. */
export const SESSION_S = 12 * 3_600;
const USER_AGENT_MAX = 200; // our choice: what browsers say of themselves is shorter
const ADDRESS_MAX = 64;

/** `forget`: has this process read a session again. Called after the commit. */
export function createSessionActs(
  deps: ActsDeps,
  forget: (sessionId: string) => void,
): SessionActs {
  const { store, secret, now } = deps;
  const noted = createNoted(deps);
  return {
    async begin(key, visitor, from) {
      const token = newToken(secret);
      const session = sessionFor(key, visitor, now());
      const { id, apiKeyId: keyId } = session;
      const { accountId: ownAccountId } = key;
      const object = { kind: 'session', id, accountId: ownAccountId } as const;
      const act = { operationId: 'signIn', by: { id, keyId, ownAccountId }, object, from };
      await noted(act, async () => {
        await store.create({ ...session, ...sealKey(secret, token, key.token) });
        return true;
      });
      return token;
    },
    async actFor(session, accountId, from) {
      const { id, apiKey } = session;
      const token = newToken(secret);
      const object: Subject =
        accountId === null
          ? { kind: 'session', id, accountId }
          : { kind: 'account', id: accountId, accountId };
      const act = { operationId: 'chooseAccount', by: holderOf(session), object, from };
      const isOpen = await noted(act, () =>
        store.actFor(id, accountId, sealKey(secret, token, apiKey)),
      );
      forget(id);
      return isOpen ? token : null;
    },
    async signOut(session, from) {
      const by = holderOf(session);
      const object = { kind: 'session', id: session.id, accountId: by.ownAccountId } as const;
      await noted({ operationId: 'signOut', by, object, from }, () =>
        store.signOut(session.id, now()),
      );
      forget(session.id);
    },
    async signOutEverywhere(session, from) {
      const by = holderOf(session);
      const object = { kind: 'key', id: by.keyId, accountId: by.ownAccountId } as const;
      let ended: readonly string[] = [];
      await noted({ operationId: 'signOutEverywhere', by, object, from }, async () => {
        ended = await store.endOfKey(by.keyId, now());
        return ended.length > 0;
      });
      for (const id of ended) forget(id);
    },
    async end({ id }) {
      await store.signOut(id, now());
      forget(id);
    },
  };
}

function sessionFor(
  { id: apiKeyId }: SignedInKey,
  { userAgent, address }: Visitor,
  createdAt: Date,
) {
  return {
    id: randomUUID(),
    apiKeyId,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + SESSION_S * 1_000),
    userAgent: printableStart(userAgent, USER_AGENT_MAX),
    address: printableStart(address, ADDRESS_MAX),
  };
}

/** Who acts with a session: its key, and the account of that, null for the installation's. */
type Holder = Pick<Session, 'id' | 'keyId'> & { readonly ownAccountId: string | null };

type NotedAct = {
  readonly operationId: string;
  readonly by: Holder;
  readonly object: Subject;
  readonly from: Origin;
};

function holderOf({ id, keyId, isInstallation, account }: Session): Holder {
  return { id, keyId, ownAccountId: isInstallation ? null : (account?.id ?? null) };
}

/** Does something with its entry: both or neither. Gives what `act` says: whether it changed anything, else there is no entry. */
function createNoted({ transact, note }: Pick<ActsDeps, 'transact' | 'note'>) {
  return ({ operationId, by, object, from }: NotedAct, act: () => Promise<boolean>) =>
    transact(async () => {
      const changed = await act();
      const { id: sessionId, keyId, ownAccountId: accountId } = by;
      const who = { keyId, accountId, byInstallation: accountId === null };
      if (changed) await note(who, { ...from, sessionId }, { operationId, object });
      return changed;
    });
}

/** What can stand in a row and on a page: no control characters, of which PostgreSQL refuses one. */
function printableStart(text: string, max: number): string {
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, max);
}
