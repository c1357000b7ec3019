/** Authenticates a request by its Authorization header, and checks the key's scope. */
import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  digestNamed,
  digestNameOf,
  holdsKey,
  MAX_TOKEN_LENGTH,
  parseKey,
} from '../../config/api-key.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type ApiKeyIdentity, type Headers, type Scope, scopes } from '../pipeline/route.ts';

/**
 * The result of reading an Authorization header. Expired, revoked and malformed keys are all
 * `invalid`.
 */
type Authentication =
  | { readonly kind: 'ok'; readonly key: ApiKeyIdentity }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid' };

/** Rejects only if the key store fails. */
export type Authenticate = (authorization: string | undefined) => Promise<Authentication>;

/** Caches keys for 5 s. */
export type Authenticator = Authenticate & {
  /**
   * Removes a key from this process's cache, so that a revoked key is refused here from now on.
   * Other processes follow within 5 s.
   */
  readonly forget: (keyId: string) => void;
};

type Digest = Uint8Array<ArrayBuffer>;

/** A stored key. It can be expired or revoked. */
export type StoredKey = {
  readonly id: string;
  /** SHA-256 of the token. */
  readonly digest: Uint8Array;
  /** As stored, including scopes that this version does not know. */
  readonly scopes: readonly string[];
  /** Null: it never expires. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
};

/** What a token claims to be. `id` is null if the token does not have the form of our keys. */
export type KeyClaim = { readonly id: string | null; readonly digest: Digest };

export type AuthDeps = {
  /** The key that a token claims to be. The caller compares the digests. */
  readonly findKey: (claim: KeyClaim) => Promise<StoredKey | null>;
  readonly now: () => Date;
};

/** A cached key; times in ms. */
type Known = {
  /** When its query started. */
  readonly since: number;
  /** -Infinity for a revoked key, Infinity for a key without expiry. */
  readonly endsAt: number;
  readonly answer: Authentication & { readonly kind: 'ok' };
};

const CACHE_MS = 5_000; // a revoked key is refused everywhere within this time
const CACHE_KEYS = 10_000;

const NO_DIGEST = new Uint8Array(32); // the length of SHA-256

const missing: Authentication = { kind: 'missing' };
const invalid: Authentication = { kind: 'invalid' };

/**
 * Authenticates bearer tokens (RFC 6750, 2.1). Valid keys are cached for 5 s. Unknown keys are not
 * cached, so a new key works at once. A token with a wrong checksum costs no query. Tokens are not
 * kept in memory.
 */
export function createAuthenticate({ findKey, now }: AuthDeps): Authenticator {
  const known = new LRUCache<string, Known>({ max: CACHE_KEYS });
  const underWay = new Map<string, Promise<Known | null>>();

  async function load(name: string, id: string | null): Promise<Known | null> {
    const since = now().getTime(); // before the query, so that no cached key is older than 5 s
    const digest = digestNamed(name);
    const key = await findKey({ id, digest });
    // Also compared if there is no key, so that timing does not reveal which IDs exist.
    const isSame = timingSafeEqual(key?.digest ?? NO_DIGEST, digest);
    if (key === null || !isSame) return null;
    return { since, endsAt: endOf(key), answer: { kind: 'ok', key: identityOf(key) } };
  }

  /** Concurrent requests share one read. A request after `forget` starts a new one. */
  function lookup(name: string, id: string | null): Promise<Known | null> {
    const shared = underWay.get(name);
    if (shared !== undefined) return shared;
    const isCurrent = () => underWay.get(name) === loading;
    const loading = load(name, id)
      .then((found) => {
        if (found !== null && isCurrent()) known.set(name, found);
        return found;
      })
      .finally(() => void (isCurrent() && underWay.delete(name)));
    underWay.set(name, loading);
    return loading;
  }

  /** Expiry applies at once, even to cached keys. */
  async function recognise(token: string): Promise<Authentication> {
    const name = digestNameOf(token);
    const at = now().getTime();
    const hit = known.get(name);
    const found = hit !== undefined && isFresh(hit, at) ? hit : await lookupShape(token, name);
    return found !== null && at < found.endsAt ? found.answer : invalid;
  }

  /**
   * Null without a query if the token has our form and a wrong checksum. Other tokens can be
   * API_KEY.
   */
  async function lookupShape(token: string, name: string): Promise<Known | null> {
    const shape = parseKey(token);
    if (shape.kind === 'mistyped') return null;
    return lookup(name, shape.kind === 'ours' ? shape.id : null);
  }

  async function authenticate(authorization: string | undefined): Promise<Authentication> {
    if (authorization === undefined || authorization === '') return missing;
    const token = tokenOf(authorization);
    return token === null ? invalid : recognise(token);
  }

  function forget(keyId: string): void {
    underWay.clear(); // reads in progress can be older than the change
    for (const [name, { answer }] of [...known.entries()]) {
      if (answer.key.id === keyId) known.delete(name);
    }
  }

  return Object.assign(authenticate, { forget });
}

/** The bearer token; null for another scheme or a header longer than any key. */
function tokenOf(authorization: string): string | null {
  if (authorization.length > MAX_HEADER_LENGTH) return null;
  const token = /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd();
  return token === undefined || token.length > MAX_TOKEN_LENGTH ? null : token;
}

const MAX_HEADER_LENGTH = 2 * MAX_TOKEN_LENGTH; // longer headers are not parsed

/** False if the clock was set back. */
function isFresh({ since }: Known, at: number): boolean {
  return at >= since && at - since < CACHE_MS;
}

/** Milliseconds since 1970; -Infinity for a revoked key. */
function endOf({ revokedAt, expiresAt }: StoredKey): number {
  if (revokedAt !== null) return Number.NEGATIVE_INFINITY;
  return expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** Scopes that this version does not know are dropped. */
function identityOf({ id, scopes: stored }: StoredKey): ApiKeyIdentity {
  return { id, scopes: scopes.filter((scope) => stored.includes(scope)) };
}

/** `admin` implies all scopes. Does not check whether the key is valid. */
export function allows(key: ApiKeyIdentity, scope: Scope): boolean {
  return key.scopes.includes(scope) || key.scopes.includes('admin');
}

const CHALLENGE = 'Bearer realm="signpost"';

/**
 * 401 with `WWW-Authenticate` (RFC 6750, 3): the error attribute is only sent if a key was given.
 */
export function unauthorized(kind: 'missing' | 'invalid'): Refusal {
  return kind === 'missing'
    ? refuse('unauthorized', 'An API key is required: Authorization: Bearer <key>.', {
        'www-authenticate': CHALLENGE,
      })
    : refuse('unauthorized', 'The API key is not valid.', {
        'www-authenticate': `${CHALLENGE}, error="invalid_token"`,
      });
}

/** 403 whose message and `WWW-Authenticate` name the missing scope (RFC 6750, 3.1). */
export function forbidden(scope: Scope): Refusal {
  return refuse('insufficient_scope', `This operation requires a key with the scope ${scope}.`, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  });
}

/**
 * Whether a header's value contains an API key or a significant part of one. `headers` are those of
 * the same request.
 */
export type IsSecret = (value: string, headers: Headers) => boolean;

/** Shorter parts do not help an attacker to guess the rest. */
const PART_LENGTH = 12;

/**
 * Detects our keys by their form, API_KEY (`configured`) anywhere in the value, and any value of at
 * least 12 characters that occurs in the request's own Authorization header.
 */
export function createIsSecret(configured: string | undefined): IsSecret {
  return (value, { authorization = '' }) =>
    holdsKey(value) ||
    (configured !== undefined && value.includes(configured)) ||
    (value.length >= PART_LENGTH && authorization.includes(value));
}
