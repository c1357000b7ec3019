/** Who is signed in: an API key in a cookie that only we can read, so that no process keeps anything. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import type { RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { Headers } from '../http/pipeline/route.ts';

/**
 * Who is signed in, as the cookie says. That there is a session does not mean that its key still works: the API
 * decides that at each call.
 */
export type Session = {
  /** The key's token, which every call to the API is made with. It must not reach a page. */
  readonly apiKey: string;
  /** A random token in every form of ours; another site cannot read it. */
  readonly csrf: string;
  /** What the key may do, as it is for as long as it lives: decides what is offered, never what is done. */
  readonly scopes: readonly string[];
};

/**
 * Makes and reads the cookies of sessions. Nothing is kept: every process with the same secret reads the cookies of
 * all.
 */
export type Sessions = {
  /** Returns the Set-Cookie value of a new session of 12 hours, for a key that the API has accepted. */
  readonly begin: (apiKey: string, scopes: readonly string[]) => Promise<string>;
  /** The session of a Cookie header. Null: there is none, it has expired, or it is not ours. Never rejects. */
  readonly find: (cookieHeader: string | undefined) => Promise<Session | null>;
  /** The Set-Cookie value that makes a browser forget it. */
  readonly ended: string;
};

/** Only over HTTPS or on this machine, for the whole host, from this host (RFC 6265bis, 4.1.3.2). */
const COOKIE = '__Host-signpost';
/** Lax, so that a link in a mail leads to the page and not to the sign-in; what changes something has the token. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
/** In seconds. Our choice: a working day. */
const LIFETIME_S = 12 * 3_600;

/**
 * `secret` encrypts the cookies: 32 bytes, `session` of src/certificates/vault/derived-secrets.ts. With another one,
 * every session of before is over. `now` decides when a session expires.
 */
export function createSessions(secret: Uint8Array, now: () => Date): Sessions {
  return {
    async begin(apiKey, scopes) {
      const issuedAt = Math.floor(now().getTime() / 1_000);
      const token = await new EncryptJWT({
        apiKey,
        scopes,
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
        const { apiKey, csrf, scopes } = payload;
        if (typeof apiKey !== 'string' || typeof csrf !== 'string') return null;
        // Ours since it could be decrypted: a list, or missing in one of before.
        return { apiKey, csrf, scopes: (scopes ?? []) as readonly string[] };
      } catch {
        return null; // over, made with another key, or no token at all: all the same to who has it
      }
    },
    ended: `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`,
  };
}

/**
 * Whether a page offers what needs this scope; `admin` has every scope. It decides what is shown, never what is done.
 */
export function offers(
  { scopes }: Pick<Session, 'scopes'>,
  scope: 'domains:read' | 'ops:read' | 'admin',
): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** The first page for who is signed in: that of the projects says itself what a key lacks that may see neither. */
export function firstPage(session: Pick<Session, 'scopes'>): '/projects' | '/ops' {
  return offers(session, 'ops:read') && !offers(session, 'domains:read') ? '/ops' : '/projects';
}

/**
 * Whether a form came from a page of this session, by its token; null, for a form without one, is false. The time of
 * the comparison does not depend on where they differ.
 */
export function isOwnForm({ csrf }: Session, given: string | null): boolean {
  const [own, other] = [Buffer.from(csrf), Buffer.from(given ?? '')];
  return own.length === other.length && timingSafeEqual(own, other);
}

function cookieValue(cookieHeader = ''): string | undefined {
  const prefix = `${COOKIE}=`;
  const pair = cookieHeader.split(';').find((one) => one.trim().startsWith(prefix));
  return pair?.trim().slice(prefix.length);
}

/** What the body of a request is. `no_form`: it has another type, or broke off. */
export type ReadForm =
  | { readonly kind: 'form'; readonly form: URLSearchParams }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_form' };

/**
 * Reads the body as a form, up to 64 KiB. A body of another type, or one whose length says that it is too large, is
 * left unread. A field that occurs several times is kept as often.
 */
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

/**
 * Where a request comes from, by what the browser says (Fetch Metadata); by the origin where it does not (RFC 6454,
 * 7). `unsaid`: neither is there, or a person has sent it again.
 */
export function cameFrom(headers: Headers): 'here' | 'elsewhere' | 'unsaid' {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site === 'none') return 'unsaid'; // a person sends it again
  if (site !== undefined) return site === 'same-origin' ? 'here' : 'elsewhere';
  if (origin === undefined) return 'unsaid';
  return URL.canParse(origin) && new URL(origin).host === host ? 'here' : 'elsewhere';
}

/**
 * Whether a form may be acted on. With a session it must have the session's token; without one, as at the sign-in, it
 * must not come from another site.
 */
export function isFromHere(
  { headers }: Pick<RawRequest, 'headers'>,
  session: Session | null,
  form: URLSearchParams,
): boolean {
  if (session === null) return cameFrom(headers) !== 'elsewhere';
  // With the token the origin adds nothing, and a proxy may have changed the host that it is held to.
  const isForeign = cameFrom({ ...headers, origin: undefined }) === 'elsewhere';
  return !isForeign && isOwnForm(session, form.get('csrf'));
}
