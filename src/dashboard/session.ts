/** Sessions: an API key in an encrypted cookie, without state on the server. */

import { randomBytes } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import { type Scope, withImplied } from '../core/operations/scopes.ts';
import type { RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { Headers } from '../http/pipeline/route.ts';
import { isSameSecret } from '../net/constant-time.ts';

/** The key may no longer be valid: the API checks that on each call. */
export type DashboardSession = {
  /** The key's token, used for every API call. It must not appear in a page. */
  readonly apiKey: string;
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

type SessionKey = Pick<DashboardSession, 'apiKey' | 'scopes' | 'reach'>;

export type Sessions = {
  /** The Set-Cookie value of a new session, for a key that the API accepted. */
  readonly begin: (key: SessionKey, account?: ChosenAccount | null) => Promise<string>;
  /** Null: missing, expired or invalid. Never rejects. */
  readonly find: (cookieHeader: string | undefined) => Promise<DashboardSession | null>;
  /** The Set-Cookie value that deletes the session. */
  readonly ended: string;
};

/** Only over HTTPS or on localhost, for the whole host, set by this host (RFC 6265bis, 4.1.3.2). */
const COOKIE = '__Host-signpost';
/** Lax: links in mails open the page instead of the sign-in. Changes require the CSRF token. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
/** A working day. */
const LIFETIME_S = 12 * 3_600;

/** `secret`: 32 bytes, `session` of src/certificates/vault/derived-secrets.ts. */
export function createSessions(secret: Uint8Array, now: () => Date): Sessions {
  return {
    async begin({ apiKey, scopes, reach }, account = null) {
      const issuedAt = Math.floor(now().getTime() / 1_000);
      const token = await new EncryptJWT({
        apiKey,
        scopes,
        reach,
        account,
        csrf: randomBytes(16).toString('base64url'),
      })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + LIFETIME_S)
        .encrypt(secret);
      return `${COOKIE}=${token}; ${ATTRIBUTES}; Max-Age=${LIFETIME_S}`;
    },
    async find(cookieHeader) {
      const token = cookieValue(cookieHeader);
      if (token === undefined) return null;
      try {
        const { payload } = await jwtDecrypt(token, secret, {
          currentDate: now(),
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        const { apiKey, csrf, scopes, reach, account } = payload;
        if (typeof apiKey !== 'string' || typeof csrf !== 'string') return null;
        // Trusted after decryption; older cookies lack some.
        const known = (account ?? null) as ChosenAccount | null;
        return {
          apiKey,
          csrf,
          scopes: (scopes ?? []) as readonly string[],
          reach: (reach ?? 'installation') as KeyReach,
          account: known,
        };
      } catch {
        return null; // expired, encrypted with another key, or invalid
      }
    },
    ended: `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
  };
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
