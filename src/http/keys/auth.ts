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
import { type Access, installation } from '../../core/accounts/access.ts';
import { type AccountLimits, limitsOf } from '../../core/accounts/limits.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import {
  type ApiKeyIdentity,
  accountScopes,
  type Headers,
  type Scope,
  scopes,
} from '../pipeline/route.ts';

/**
 * What an Authorization header came to: a valid key, no header or an empty one, or anything else. An expired, a revoked and
 * a malformed key are all `invalid`.
 */
export type Authentication =
  | { readonly kind: 'ok'; readonly key: ApiKeyIdentity }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid' };

/** Finds the key behind an Authorization header; undefined where none was sent. Rejects only where the key store fails. */
export type Authenticate = (authorization: string | undefined) => Promise<Authentication>;

/** An `Authenticate` that remembers keys for 5 s. */
export type Authenticator = Authenticate & {
  /**
   * Drops a key from the memory of this process, so that its next use reads it again: a key that was revoked is refused here
   * from now on. The other processes follow within 5 s.
   */
  readonly forget: (keyId: string) => void;
};

type Digest = Uint8Array<ArrayBuffer>;

/** A stored key; expired and revoked ones are found too. */
export type StoredKey = {
  readonly id: string;
  /** SHA-256 of the token. */
  readonly digest: Uint8Array;
  /** As stored; scopes that this version does not know are among them. */
  readonly scopes: readonly string[];
  /** Null: it does not expire by itself. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Null: a key of the installation. */
  readonly accountId: string | null;
  /** Of the account; empty: all of its projects. */
  readonly projectIds: readonly string[];
  /** A key of an account that was closed is accepted no more. Null: it is open, or the key has none. */
  readonly accountClosedAt: Date | null;
  /** As stored: the account's own limits (LimitOverrides). */
  readonly accountLimits: unknown;
};

/** What a token claims to be: the SHA-256 of the whole token, and the id where it has the shape of our keys, else null. */
export type KeyClaim = { readonly id: string | null; readonly digest: Digest };

/** What `createAuthenticate` reads from. */
export type AuthDeps = {
  /** The key that a token claims to be. Whether it is that key is compared here. */
  readonly findKey: (claim: KeyClaim) => Promise<StoredKey | null>;
  /** What holds for accounts without limits of their own. */
  readonly limits: AccountLimits;
  readonly now: () => Date;
};

/** A key as it was when it was looked up; times in ms. */
type Known = {
  /** When its query began. */
  readonly since: number;
  /** When it is no longer accepted; -Infinity for a revoked key, Infinity for one without an end. */
  readonly endsAt: number;
  readonly answer: Authentication & { readonly kind: 'ok' };
};

const CACHE_MS = 5_000; // a revoked key is refused everywhere within this time
const CACHE_KEYS = 10_000;

const NO_DIGEST = new Uint8Array(32); // of SHA-256's length

const missing: Authentication = { kind: 'missing' };
const invalid: Authentication = { kind: 'invalid' };

/**
 * Recognizes bearer keys (RFC 6750, 2.1). A key that was found is remembered for 5 s, one that was not is looked up each
 * time, so that a new key works at once. A mistyped key costs no query. No token is kept in memory.
 */
export function createAuthenticate({ findKey, limits, now }: AuthDeps): Authenticator {
  const known = new LRUCache<string, Known>({ max: CACHE_KEYS });
  const underWay = new Map<string, Promise<Known | null>>();

  async function load(name: string, id: string | null): Promise<Known | null> {
    const since = now().getTime(); // before the query, so that nothing older than 5 s is believed
    const digest = digestNamed(name);
    const key = await findKey({ id, digest });
    // Compared also where there is no key, so that the time tells nobody which ids exist.
    const isSame = timingSafeEqual(key?.digest ?? NO_DIGEST, digest);
    if (key === null || !isSame) return null;
    return { since, endsAt: endOf(key), answer: { kind: 'ok', key: identityOf(key, limits) } };
  }

  /** Requests that come while their key is read share the answer. One that comes after `forget` begins a new read. */
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

  /** An expired key is refused at that moment, also while it is remembered. */
  async function recognise(token: string): Promise<Authentication> {
    const name = digestNameOf(token);
    const at = now().getTime();
    const hit = known.get(name);
    const found = hit !== undefined && isFresh(hit, at) ? hit : await lookupShape(token, name);
    return found !== null && at < found.endsAt ? found.answer : invalid;
  }

  /** Null for a token with our shape and a wrong checksum, without a query. A token of another shape may be API_KEY. */
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

/** The bearer token; null where the header has another scheme, or is longer than any key. */
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

/** When a key is no longer accepted, in milliseconds since 1970; at no time, where it or its account has been ended. */
function endOf({ revokedAt, expiresAt, accountClosedAt }: StoredKey): number {
  if (revokedAt !== null || accountClosedAt !== null) return Number.NEGATIVE_INFINITY;
  return expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** The key as requests carry it. A scope that this version does not know allows nothing, and is left out. */
function identityOf(key: StoredKey, configured: AccountLimits): ApiKeyIdentity {
  const known = key.accountId === null ? scopes : accountScopes;
  return {
    id: key.id,
    scopes: known.filter((scope) => key.scopes.includes(scope)),
    access: accessOf(key),
    ...(key.accountId !== null && { limits: limitsOf(key.accountLimits, configured) }),
  };
}

function accessOf({ accountId, projectIds }: StoredKey): Access {
  if (accountId === null) return installation;
  return { kind: 'account', accountId, projectIds: projectIds.length === 0 ? null : projectIds };
}

/**
 * Whether a key may do what needs `scope`. `admin` may do everything; of an account, what keys of accounts can. Says nothing
 * about whether the key is valid.
 */
export function allows({ scopes: held, access }: ApiKeyIdentity, scope: Scope): boolean {
  if (held.includes(scope)) return true;
  const implied: readonly Scope[] = access.kind === 'account' ? accountScopes : scopes;
  return held.includes('admin') && implied.includes(scope);
}

const CHALLENGE = 'Bearer realm="signpost"';

/** The 401 with `WWW-Authenticate` as RFC 6750, 3 words it: an error attribute only where a key was given. */
export function unauthorized(kind: 'missing' | 'invalid'): Refusal {
  return kind === 'missing'
    ? refuse('unauthorized', 'An API key is needed: Authorization: Bearer <key>.', {
        'www-authenticate': CHALLENGE,
      })
    : refuse('unauthorized', 'The API key is not valid.', {
        'www-authenticate': `${CHALLENGE}, error="invalid_token"`,
      });
}

/** The 403 whose message and `WWW-Authenticate` name the scope that is missing (RFC 6750, 3.1). */
export function forbidden(scope: Scope): Refusal {
  return refuse('insufficient_scope', `This operation needs a key with the scope ${scope}.`, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  });
}

/** Whether a header's value gives a key away, or a good part of one. `headers` are those of the same request. */
export type IsSecret = (value: string, headers: Headers) => boolean;

/** A shorter part of a key helps nobody to guess the rest. */
const PART_LENGTH = 12;

/**
 * Recognizes keys of our making by their shape, API_KEY (`configured`) wherever it occurs in the value, and any other key by
 * the request's own Authorization header: a value of 12 characters or more that occurs in it is secret.
 */
export function createIsSecret(configured: string | undefined): IsSecret {
  return (value, { authorization = '' }) =>
    holdsKey(value) ||
    (configured !== undefined && value.includes(configured)) ||
    (value.length >= PART_LENGTH && authorization.includes(value));
}
