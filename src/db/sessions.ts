/** Sessions of the dashboard: each is a row, so that it ends wherever a copy of its cookie is. */
import type { Access } from '../core/accounts/access.ts';
import { keysWithin } from './api-keys.ts';
import { createdBefore, firstPage, type PageQuery } from './engine/page.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';
import { heldScopes } from './key-scopes.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** What a cookie opens: the digest of its token, and the key's token encrypted for who holds the cookie. */
export type SessionSecret = { readonly digest: Bytes; readonly sealedKey: Bytes };

/** A session to be stored. `userAgent` and `address` are for people, who know a browser of their own by them. */
export type NewSession = SessionSecret & {
  readonly id: string;
  readonly apiKeyId: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly userAgent: string;
  readonly address: string;
};

/** A session that has not ended, with its key as it is now: whether that one is still accepted, the API decides. */
export type OpenSession = {
  readonly id: string;
  readonly sealedKey: Uint8Array;
  readonly expiresAt: Date;
  readonly apiKeyId: string;
  readonly keyName: string;
  /** As stored; scopes that this version does not know are among them. */
  readonly scopes: readonly string[];
  /** Null: a key of the installation. */
  readonly keyAccountId: string | null;
  /** Of the key: empty for all that its account has. */
  readonly projectIds: readonly string[];
  /** The account whose things are shown: the key's own, or the one that was chosen. Null: all of them. */
  readonly account: SessionAccount | null;
};

/** `closedAt` null: it is open. */
export type SessionAccount = {
  readonly id: string;
  readonly name: string;
  readonly closedAt: Date | null;
};

/** What may be shown of a session. */
export type SessionDetails = Prisma.SessionGetPayload<typeof shown>;

const shown = {
  omit: { digest: true, sealedKey: true },
  include: { apiKey: { select: { accountId: true, name: true } } },
} as const satisfies Prisma.SessionDefaultArgs;

/** Ids must be UUIDs: the database refuses any other text, and the call rejects. */
export type SessionStore = {
  /** Of a key's sessions the newest 100 stay. */
  create(session: NewSession): Promise<void>;
  /** Null where no session that is open at `at` has this digest. Its last use is written once a minute. */
  find(digest: Bytes, at: Date): Promise<OpenSession | null>;
  /** Has a session act for this account, or for all of them, under another secret; false where it has ended. */
  actFor(id: string, accountId: string | null, secret: SessionSecret): Promise<boolean>;
  /** Those that are open and whose keys are accepted, of all keys that the access manages: the newest first, a page of them. */
  list(access: Access, at: Date, page?: PageQuery): Promise<SessionDetails[]>;
  /**
   * The account of its key, null for the installation's; null where there is none, or the access does not manage its key.
   * Idempotent: an ended one keeps its time.
   */
  end(access: Access, id: string, at: Date): Promise<{ readonly accountId: string | null } | null>;
  /** Ends the session of who signs out; false where it had ended. */
  signOut(id: string, at: Date): Promise<boolean>;
  /** Ends every session of a key, and gives their ids. */
  endOfKey(apiKeyId: string, at: Date): Promise<string[]>;
  /** Which of these are open. */
  amongOpen(ids: readonly string[], at: Date): Promise<string[]>;
  /** Removes those that expired before then; ended ones stay until they would have expired. */
  dropExpired(before: Date): Promise<void>;
};

/** Of one key, our choice: more than anybody signs in with. The oldest ones end beyond it, as anybody with a key may sign in. */
const OPEN_MAX = 100;

/** All times are the caller's clock. */
export function createSessionStore(prisma: PrismaClient): SessionStore {
  return {
    async create(session) {
      const { apiKeyId, createdAt } = session;
      await prisma.session.create({ data: { ...session, lastUsedAt: createdAt } });
      const old = await prisma.session.findMany({
        where: { apiKeyId, endedAt: null },
        orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
        skip: OPEN_MAX,
        take: OPEN_MAX,
        select: { id: true },
      });
      const ids = old.map(({ id }) => id);
      if (ids.length > 0) await prisma.session.deleteMany({ where: { id: { in: ids } } });
    },
    find: (digest, at) => find(prisma, digest, at),
    async actFor(id, accountId, secret) {
      const where = { id, endedAt: null };
      const { count } = await prisma.session.updateMany({ where, data: { accountId, ...secret } });
      return count > 0;
    },
    list: (access, at, { after, limit } = firstPage) =>
      prisma.session.findMany({
        ...shown,
        where: {
          AND: [openAt(at), createdBefore(after)],
          apiKey: { AND: [keysWithin(access), acceptedAt(at)] },
        },
        // Not by their last use: one that is used meanwhile would be missed by who reads page after page.
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      }),
    async end(access, id, at) {
      const found = await prisma.session.findFirst({
        where: { id, apiKey: keysWithin(access) },
        select: { apiKey: { select: { accountId: true } } },
      });
      if (found === null) return null;
      await prisma.session.updateMany({ where: { id, endedAt: null }, data: endedAt(at) });
      return { accountId: found.apiKey.accountId };
    },
    async signOut(id, at) {
      const where = { id, endedAt: null };
      const { count } = await prisma.session.updateMany({ where, data: endedAt(at) });
      return count > 0;
    },
    async endOfKey(apiKeyId, at) {
      const ended = await prisma.session.updateManyAndReturn({
        where: { apiKeyId, endedAt: null },
        data: endedAt(at),
        select: { id: true },
      });
      return ended.map(({ id }) => id);
    },
    async amongOpen(ids, at) {
      const where = { id: { in: [...ids] }, ...openAt(at) };
      const found = await prisma.session.findMany({ where, select: { id: true } });
      return found.map(({ id }) => id);
    },
    async dropExpired(before) {
      await prisma.session.deleteMany({ where: { expiresAt: { lt: before } } });
    },
  };
}

/** What no cookie can open any more: the key goes with the session. */
function endedAt(at: Date) {
  return { endedAt: at, sealedKey: null };
}

function openAt(at: Date): Prisma.SessionWhereInput {
  return { endedAt: null, expiresAt: { gt: at } };
}

function acceptedAt(at: Date): Prisma.ApiKeyWhereInput {
  return {
    revokedAt: null,
    AND: [
      { OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] },
      { OR: [{ accountId: null }, { account: { closedAt: null } }] },
    ],
  };
}

type Row = Omit<OpenSession, 'account'> & {
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly closedAt: Date | null;
};

async function find(prisma: PrismaClient, digest: Bytes, at: Date): Promise<OpenSession | null> {
  // As text: the adapter sends a Date without its zone, and the session's may be another one.
  const now = at.toISOString();
  const [row] = await prisma.$queryRaw<Row[]>`
    WITH used AS (
      UPDATE session SET last_used_at = ${now}::timestamptz
      WHERE digest = ${digest} AND ended_at IS NULL AND expires_at > ${now}::timestamptz
        AND last_used_at < ${now}::timestamptz - interval '1 minute'
    )
    SELECT session.id::text, sealed_key AS "sealedKey", session.expires_at AS "expiresAt",
      api_key_id AS "apiKeyId", key.name AS "keyName", scopes, key.account_id::text AS "keyAccountId",
      project_ids::text[] AS "projectIds", account.id::text AS "accountId",
      account.name AS "accountName", account.closed_at AS "closedAt"
    FROM session JOIN api_key key ON key.id = api_key_id
      LEFT JOIN account ON account.id = COALESCE(key.account_id, session.account_id)
    WHERE session.digest = ${digest} AND ended_at IS NULL AND session.expires_at > ${now}::timestamptz`;
  if (row === undefined) return null;
  const { accountId, accountName, closedAt, ...session } = row;
  const scopes = heldScopes({ scopes: row.scopes, accountId: row.keyAccountId });
  const account =
    accountId === null || accountName === null
      ? null
      : { id: accountId, name: accountName, closedAt };
  return { ...session, scopes, account };
}
