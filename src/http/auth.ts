/** From an Authorization header to the key behind it, and whether that key may do what is asked. */
import { LRUCache } from 'lru-cache';
import { digestOf, MAX_TOKEN_LENGTH, parseKey } from './api-key.ts';
import { type Refusal, refuse } from './errors.ts';
import { type ApiKeyIdentity, type Scope, scopes } from './route.ts';

export type Authentication =
  | { readonly kind: 'ok'; readonly key: ApiKeyIdentity }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid' };

/** Throws only where the key cannot be looked up. */
export type Authenticate = (authorization: string | undefined) => Promise<Authentication>;

/** A stored key; expired and revoked ones are found too. */
export type StoredKey = {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
};

export type AuthDeps = {
  readonly findKey: (digest: Uint8Array<ArrayBuffer>) => Promise<StoredKey | null>;
  readonly now: () => Date;
};

const CACHE_MS = 5_000; // a revoked key is refused everywhere within this time
const CACHE_KEYS = 10_000;

/**
 * Recognises bearer keys (RFC 6750, 2.1). A key that was found is remembered for 5 s, one that was not
 * is looked up each time, so that a new key works at once. A mistyped key costs no query.
 */
export function createAuthenticate({ findKey, now }: AuthDeps): Authenticate {
  const known = new LRUCache<string, { readonly key: StoredKey; readonly until: number }>({
    max: CACHE_KEYS,
  });

  async function lookup(token: string): Promise<StoredKey | null> {
    const digest = digestOf(token);
    const name = Buffer.from(digest).toString('base64'); // no token is kept in memory
    const hit = known.get(name);
    if (hit !== undefined && hit.until > now().getTime()) return hit.key;
    const key = await findKey(digest);
    if (key === null) known.delete(name);
    else known.set(name, { key, until: now().getTime() + CACHE_MS });
    return key;
  }

  return async (authorization) => {
    if (authorization === undefined || authorization === '') return { kind: 'missing' };
    const token = /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd();
    if (token === undefined || token.length > MAX_TOKEN_LENGTH) return { kind: 'invalid' };
    if (parseKey(token).kind === 'mistyped') return { kind: 'invalid' };
    const key = await lookup(token);
    return key !== null && isUsable(key, now()) ? { kind: 'ok', key: identityOf(key) } : refused;
  };
}

const refused: Authentication = { kind: 'invalid' };

function isUsable(key: StoredKey, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/** A scope that this version does not know gives nothing. */
function identityOf({ id, scopes: stored }: StoredKey): ApiKeyIdentity {
  return { id, scopes: scopes.filter((scope) => stored.includes(scope)) };
}

/** Whether a key may do what needs `scope`; `admin` may do everything. */
export function allows(key: ApiKeyIdentity, scope: Scope): boolean {
  return key.scopes.includes(scope) || key.scopes.includes('admin');
}

const CHALLENGE = 'Bearer realm="signpost"';

/** 401 as RFC 6750, 3 words it: an error attribute only where a key was given. */
export function unauthorized(kind: 'missing' | 'invalid'): Refusal {
  return kind === 'missing'
    ? refuse('unauthorized', 'An API key is needed: Authorization: Bearer <key>.', {
        'www-authenticate': CHALLENGE,
      })
    : refuse('unauthorized', 'The API key is not valid.', {
        'www-authenticate': `${CHALLENGE}, error="invalid_token"`,
      });
}

/** 403 that names the scope (RFC 6750, 3.1). */
export function forbidden(scope: Scope): Refusal {
  return refuse('insufficient_scope', `This operation needs a key with the scope ${scope}.`, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  });
}
