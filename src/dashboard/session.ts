/** Sessions: rows of the database, and an encrypted cookie with the token of one. */

import { randomBytes, randomUUID } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { digestOf } from '../config/api-key.ts';
import { wholeInstallation } from '../core/access.ts';
import { type Scope, withImplied } from '../core/operations/scopes.ts';
import { HOUR } from '../core/time.ts';
import { transact } from '../db/engine/transaction.ts';
import type { ForgetCredential } from '../http/keys/auth.ts';
import type { RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { Headers } from '../http/pipeline/route.ts';
import { isSameSecret } from '../net/constant-time.ts';
import type { Service } from '../service/service.ts';

/** It can have ended, or its key: the API checks that on each call. */
export type DashboardSession = {
  readonly id: string;
  /** Used for every API call. It must not appear in a page. */
  readonly token: string;
  readonly endsAt: Date;
  /** A random token in every form; other sites cannot read it. */
  readonly csrf: string;
  /** They decide what is offered; the API decides what is allowed. */
  readonly scopes: readonly string[];
  /** Of its key. */
  readonly reach: KeyReach;
  /** Chosen by an operator; pages then act for it. */
  readonly account: ChosenAccount | null;
};

/** `projects`: only some of an account. */
type KeyReach = 'installation' | 'account' | 'projects';

type ChosenAccount = { readonly id: string; readonly name: string };

/** A key that the API accepted, and the client that sent it. */
type SignIn = Pick<DashboardSession, 'scopes' | 'reach'> & {
  readonly keyId: string;
  readonly address: string;
  readonly userAgent: string;
};

export type Sessions = {
  /** The Set-Cookie value of a new session. */
  readonly begin: (signIn: SignIn) => Promise<string>;
  /** The Set-Cookie value of the same session, which ends when it did before. */
  readonly choose: (session: DashboardSession, account: ChosenAccount | null) => Promise<string>;
  /** Null: missing, past its end or invalid. Never rejects. */
  readonly find: (cookieHeader: string | undefined) => Promise<DashboardSession | null>;
  /** This process refuses it from now on, others within 5 s. */
  readonly end: (session: DashboardSession, address: string) => Promise<void>;
  /** The Set-Cookie value that deletes the cookie. */
  readonly ended: string;
};

/** Only over HTTPS or on localhost, for the whole host, set by this host (RFC 6265bis, 4.1.3.2). */
const COOKIE = '__Host-signpost';
/** Lax: links in mails open the page instead of the sign-in. Changes require the CSRF token. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
/** A working day. Nothing extends it. */
const LIFETIME_MS = 12 * HOUR;
/** Of a browser's name for itself. */
const USER_AGENT_LENGTH = 200;

type SessionService = Pick<Service, 'audit' | 'database' | 'now' | 'secrets' | 'sessions'>;

export function createSessions(service: SessionService, forget: ForgetCredential): Sessions {
  const { now, secrets, sessions } = service;
  const secret = secrets.session;
  async function cookieOf({ endsAt, ...session }: DashboardSession): Promise<string> {
    const cookie = await new EncryptJWT(session)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(endsAt)
      .encrypt(secret);
    const leftS = Math.floor((endsAt.getTime() - now().getTime()) / 1_000);
    return `${COOKIE}=${cookie}; ${ATTRIBUTES}; Max-Age=${leftS}`;
  }
  return {
    async begin({ scopes, reach, keyId, address, userAgent }) {
      const createdAt = now();
      const [id, token] = [randomUUID(), randomBytes(32).toString('base64url')];
      const endsAt = new Date(createdAt.getTime() + LIFETIME_MS);
      const client = { address, userAgent: shownAgent(userAgent) };
      await transact(service.database.prisma, async () => {
        await sessions.create({ id, digest: digestOf(token), keyId, createdAt, endsAt, ...client });
        await record(service, 'signIn', { id, keyId, address });
      });
      const csrf = randomBytes(16).toString('base64url');
      return cookieOf({ id, token, endsAt, csrf, scopes, reach, account: null });
    },
    choose: (session, account) => cookieOf({ ...session, account }),
    async find(cookieHeader) {
      const cookie = cookieValue(cookieHeader);
      if (cookie === undefined) return null;
      try {
        const { payload } = await jwtDecrypt<Omit<DashboardSession, 'endsAt'>>(cookie, secret, {
          currentDate: now(),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        const { id, token, csrf, scopes, reach, account, exp = 0 } = payload;
        // Cookies of version 0.2 have a key instead of a token.
        if (typeof token !== 'string') return null;
        return { id, token, endsAt: new Date(exp * 1_000), csrf, scopes, reach, account };
      } catch {
        return null; // past its end, encrypted with another key, or invalid
      }
    },
    async end({ id }, address) {
      await transact(service.database.prisma, async () => {
        const session = await sessions.get(wholeInstallation, id);
        const hasEnded = await sessions.end(wholeInstallation, id);
        if (session && hasEnded) await record(service, 'signOut', { ...session, address });
      });
      forget(id);
    },
    ended: `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
  };
}

async function record(
  { audit, now }: SessionService,
  operation: 'signIn' | 'signOut',
  { id, keyId, address }: { readonly id: string } & Pick<SignIn, 'keyId' | 'address'>,
): Promise<void> {
  await audit.record({
    operation,
    object: `/v1/sessions/${id}`,
    keyId,
    sessionId: id,
    ofKeyId: keyId,
    address,
    status: 204,
    at: now(),
  });
}

/** Printable ASCII. */
function shownAgent(userAgent: string): string {
  return userAgent.replace(/[^\x20-\x7e]/g, '').slice(0, USER_AGENT_LENGTH);
}

/** What a page shows; `admin` implies all scopes. The API decides what is allowed. */
export function offers({ reach, scopes }: KeyScopes, scope: Scope): boolean {
  const own = reach === 'installation' ? withImplied(scopes) : scopes;
  return own.includes(scope) || own.includes('admin');
}
type KeyScopes = Pick<DashboardSession, 'reach' | 'scopes'>;

/** The projects page explains missing scopes. */
export function firstPage(session: KeyScopes): '/projects' | '/ops' {
  return offers(session, 'ops:read') && !offers(session, 'domains:read') ? '/ops' : '/projects';
}

function isOwnForm({ csrf }: DashboardSession, given: string | null): boolean {
  return isSameSecret(csrf, given ?? '');
}

function cookieValue(cookieHeader = ''): string | undefined {
  const prefix = `${COOKIE}=`;
  const pair = cookieHeader.split(';').find((one) => one.trim().startsWith(prefix));
  return pair?.trim().slice(prefix.length);
}

/** `no_form`: another type, or cut off. */
export type ReadForm =
  | { readonly kind: 'form'; readonly form: URLSearchParams }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_form' };

/** Does not read other types, or bodies announced above MAX_BODY_BYTES. Keeps repeated fields. */
export async function readForm({ headers, readBody }: RawRequest): Promise<ReadForm> {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  if (!isForm) return { kind: 'no_form' };
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return { kind: 'too_large' };
  const read = await readBody();
  if (read.kind === 'bytes') {
    return { kind: 'form', form: new URLSearchParams(Buffer.from(read.bytes).toString()) };
  }
  const isLarge = read.kind === 'too_large' || read.code === 'body_too_large';
  return { kind: isLarge ? 'too_large' : 'no_form' };
}

/** Fetch Metadata, or else Origin (RFC 6454, 7). `unknown`: neither is sent, or a reload. */
export function cameFrom(headers: Headers): 'here' | 'elsewhere' | 'unknown' {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site === 'none') return 'unknown'; // the user reloads it
  if (site !== undefined) return site === 'same-origin' ? 'here' : 'elsewhere';
  if (origin === undefined) return 'unknown';
  return URL.canParse(origin) && new URL(origin).host === host ? 'here' : 'elsewhere';
}

/** A session's form must have its token. Without a session, it must not come from another site. */
export function isFromHere(
  { headers }: Pick<RawRequest, 'headers'>,
  session: DashboardSession | null,
  form: URLSearchParams,
): boolean {
  if (session === null) return cameFrom(headers) !== 'elsewhere';
  // With the token, the origin adds nothing, and a proxy can have changed the host.
  const isForeign = cameFrom({ ...headers, origin: undefined }) === 'elsewhere';
  return !isForeign && isOwnForm(session, form.get('csrf'));
}
