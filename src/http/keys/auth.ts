/** From an Authorization header to the key behind it, and whether that key may do what is asked. */
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

export type Authentication =
  | { readonly kind: 'ok'; readonly key: ApiKeyIdentity }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid' };

/** Throws only where the key cannot be looked up. */
export type Authenticate = (authorization: string | undefined) => Promise<Authentication>;

export type Authenticator = Authenticate & {
  /** Has the key looked up again at its next use: a revoked one is refused here from now on. */
  readonly forget: (keyId: string) => void;
};

type Digest = Uint8Array<ArrayBuffer>;

/** A stored key; expired and revoked ones are found too. */
export type StoredKey = {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
};

/** What a token says of the key that it is: the id only where it has our shape. */
export type KeyClaim = { readonly id: string | null; readonly digest: Digest };

export type AuthDeps = {
  /** The key that a token claims to be. Whether it is that key is compared here. */
  readonly findKey: (claim: KeyClaim) => Promise<StoredKey | null>;
  readonly now: () => Date;
};

/** A key as it was when it was looked up; times in ms. */
type Known = {
  readonly since: number;
  readonly endsAt: number;
  readonly answer: Authentication & { readonly kind: 'ok' };
};

const CACHE_MS = 5_000; // a revoked key is refused everywhere within this time
const CACHE_KEYS = 10_000;

const NO_DIGEST = new Uint8Array(32); // of SHA-256's length

const missing: Authentication = { kind: 'missing' };
const invalid: Authentication = { kind: 'invalid' };

/**
 * Recognises bearer keys (RFC 6750, 2.1). A key that was found is remembered for 5 s, one that was not
 * is looked up each time, so that a new key works at once. A mistyped key costs no query. No token is kept in memory.
 */
export function createAuthenticate({ findKey, now }: AuthDeps): Authenticator {
  const known = new LRUCache<string, Known>({ max: CACHE_KEYS });
  const underWay = new Map<string, Promise<Known | null>>();

  async function load(name: string, id: string | null): Promise<Known | null> {
    const since = now().getTime(); // before the query, so that nothing older than 5 s is believed
    const digest = digestNamed(name);
    const key = await findKey({ id, digest });
    // Compared also where there is no key, so that the time tells nobody which ids exist.
    const isSame = timingSafeEqual(key?.digest ?? NO_DIGEST, digest);
    if (key === null || !isSame) return null;
    return { since, endsAt: endOf(key), answer: { kind: 'ok', key: identityOf(key) } };
  }

  /** Requests that come while their key is looked up share the answer; `forget` parts those after it from those before. */
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

  async function recognise(token: string): Promise<Authentication> {
    const name = digestNameOf(token);
    const at = now().getTime();
    const hit = known.get(name);
    const found = hit !== undefined && isFresh(hit, at) ? hit : await lookupShape(token, name);
    return found !== null && at < found.endsAt ? found.answer : invalid;
  }

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
    underWay.clear(); // what they read may be older than what is to be forgotten
    for (const [name, { answer }] of [...known.entries()]) {
      if (answer.key.id === keyId) known.delete(name);
    }
  }

  return Object.assign(authenticate, { forget });
}

function tokenOf(authorization: string): string | null {
  if (authorization.length > MAX_HEADER_LENGTH) return null;
  const token = /^bearer +(\S.*)$/i.exec(authorization)?.[1]?.trimEnd();
  return token === undefined || token.length > MAX_TOKEN_LENGTH ? null : token;
}

const MAX_HEADER_LENGTH = 2 * MAX_TOKEN_LENGTH; // what is longer is not even read

/** A clock that was set back makes nothing fresh again. */
function isFresh({ since }: Known, at: number): boolean {
  return at >= since && at - since < CACHE_MS;
}

/** A revoked key has ended long ago. */
function endOf({ revokedAt, expiresAt }: StoredKey): number {
  if (revokedAt !== null) return Number.NEGATIVE_INFINITY;
  return expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
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

/** Whether a header's value gives a key away, or a good part of one. */
export type IsSecret = (value: string, headers: Headers) => boolean;

/** A shorter part of a key helps nobody to guess the rest. */
const PART_LENGTH = 12;

/** Knows the keys of our making by their shape, API_KEY because it is told, and any other by the request that brings it. */
export function createIsSecret(configured: string | undefined): IsSecret {
  return (value, { authorization = '' }) =>
    holdsKey(value) ||
    (configured !== undefined && value.includes(configured)) ||
    (value.length >= PART_LENGTH && authorization.includes(value));
}
