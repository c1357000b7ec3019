import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  digestNameOf,
  digestOf,
  holdsKey,
  MAX_TOKEN_LENGTH,
  parseKey,
} from '../../config/api-key.ts';
import type { ApiConfig } from '../../config/config.ts';
import { accessTo, wholeInstallation } from '../../core/access.ts';
import { limitsOf } from '../../core/operations/account-limits.ts';
import { accountScopes, type Scope, scopes, withImplied } from '../../core/operations/scopes.ts';
import type { AccountStore } from '../../db/accounts.ts';
import type { ApiKeyStore, StoredKey } from '../../db/api-keys.ts';
import type { SessionStore } from '../../db/sessions.ts';
import { createSingleFlight } from '../../net/load-once.ts';
import { type Refusal, refuse, refuseFields } from '../pipeline/errors.ts';
import type { ApiKeyIdentity, Headers } from '../pipeline/route.ts';

/** `revoked` and `expired` only for the whole key: they do not reveal that a key exists. */
type Unauthenticated =
  | { readonly kind: 'missing' | 'not_bearer' | 'unknown' }
  | { readonly kind: 'revoked' | 'expired'; readonly at: Date };
type Authentication = { readonly kind: 'ok'; readonly key: ApiKeyIdentity } | Unauthenticated;

type AuthenticateOptions = {
  /** Only the dashboard's own calls have the token of a session instead of a key. */
  readonly takesSession?: boolean;
  /** A shorter time than CACHE_MS. */
  readonly cachedMs?: number;
};

/** Rejects only if the database fails. */
export type Authenticate = (
  authorization: string | undefined,
  options?: AuthenticateOptions,
) => Promise<Authentication>;

/** This process reads the key or session again at its next use; other processes within CACHE_MS. */
export type ForgetCredential = (id: string) => void;

/** Caches valid keys and sessions for CACHE_MS. */
export type Authenticator = Authenticate & { readonly forget: ForgetCredential };

type AuthService = {
  readonly accounts: Pick<AccountStore, 'find'>;
  readonly apiKeys: Pick<ApiKeyStore, 'find'>;
  readonly sessions: Pick<SessionStore, 'find'>;
  readonly config: { readonly api: Pick<ApiConfig, 'accountLimits'> };
  now(): Date;
};

type Known = {
  /** When its query started, in ms. */
  readonly since: number;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly answer: Authentication & { readonly kind: 'ok' };
};

const CACHE_MS = 5_000; // a revoked key is refused everywhere within this time
const CACHE_KEYS = 10_000;

const NO_DIGEST = new Uint8Array(32); // the length of SHA-256

const missing: Authentication = { kind: 'missing' };
const notBearer: Authentication = { kind: 'not_bearer' };
const unknown: Authentication = { kind: 'unknown' };

/** RFC 6750, 2.1. Caches only valid keys, so a new key works at once. Keeps no tokens in memory. */
export function createAuthenticate(service: AuthService): Authenticator {
  const { now } = service;
  const known = new LRUCache<string, Known>({ max: CACHE_KEYS });
  const share = createSingleFlight<Known | null>();
  let revocations = 0;

  function lookup(name: string, query: () => Promise<Known | null>): Promise<Known | null> {
    const before = revocations;
    // A read that started before a revocation is neither shared nor cached after it.
    return share(`${before} ${name}`, async () => {
      const found = await query();
      if (found !== null && before === revocations) known.set(name, found);
      return found;
    });
  }

  /** Expiry applies at once, even to cached keys. */
  async function recognize(credential: Credential, cachedMs: number): Promise<Authentication> {
    const name = nameOf(credential);
    const at = now().getTime();
    const hit = known.get(name);
    const isHit = hit !== undefined && isFresh(hit, at, cachedMs);
    const found = isHit ? hit : await lookup(name, () => load(service, credential));
    return found === null ? unknown : answerAt(found, at);
  }

  async function authenticate(
    authorization: string | undefined,
    { takesSession = false, cachedMs = CACHE_MS }: AuthenticateOptions = {},
  ): Promise<Authentication> {
    if (authorization === undefined || authorization === '') return missing;
    const credential = credentialOf(authorization);
    if (credential === null || (credential.isSession && !takesSession)) return notBearer;
    return recognize(credential, cachedMs);
  }

  function forget(id: string): void {
    revocations += 1;
    for (const [name, { answer }] of [...known.entries()]) {
      if (answer.key.id === id || answer.key.sessionId === id) known.delete(name);
    }
  }

  return Object.assign(authenticate, { forget });
}

/** `since` is read before the query, so that nothing that is cached is older than CACHE_MS. */
async function load(service: AuthService, { token, isSession }: Credential): Promise<Known | null> {
  const since = service.now().getTime();
  if (isSession) return loadSession(service, token, since);
  // A wrong checksum costs no query. Tokens in another format can be API_KEY.
  const shape = parseKey(token);
  if (shape.kind === 'mistyped') return null;
  const digest = digestOf(token);
  const key = await service.apiKeys.find({ id: shape.kind === 'ours' ? shape.id : null, digest });
  // Also compared for an unknown ID: timing must not reveal which IDs exist.
  const isSame = timingSafeEqual(key?.digest ?? NO_DIGEST, digest);
  if (key === null || !isSame) return null;
  const { expiresAt, revokedAt } = key;
  const identity = await identityOf(service, key);
  const answer = identity && ({ kind: 'ok', key: identity } as const);
  return answer && { since, expiresAt, revokedAt, answer };
}

/** Ends with its key. */
async function loadSession(
  service: AuthService,
  token: string,
  since: number,
): Promise<Known | null> {
  const session = await service.sessions.find(digestOf(token));
  const identity = session && (await identityOf(service, session.apiKey, session.id));
  if (session === null || identity === null) return null;
  const { revokedAt, expiresAt: keyEnd } = session.apiKey;
  const expiresAt = keyEnd !== null && keyEnd < session.endsAt ? keyEnd : session.endsAt;
  const answer = { kind: 'ok', key: identity } as const;
  return { since, expiresAt, revokedAt, answer };
}

type Credential = { readonly token: string; readonly isSession: boolean };

/** The Authorization header of a session. The pipeline takes it only from the dashboard. */
export function sessionAuthorization(token: string): string {
  return `Session ${token}`;
}

/** Of the cache. */
function nameOf({ token, isSession }: Credential): string {
  return digestNameOf(isSession ? sessionAuthorization(token) : token);
}

/** Null for another scheme or a header longer than any key. */
function credentialOf(authorization: string): Credential | null {
  if (authorization.length > MAX_HEADER_LENGTH) return null;
  const [, scheme, rest] = /^(bearer|session) +(\S.*)$/i.exec(authorization) ?? [];
  const token = rest?.trimEnd();
  if (scheme === undefined || token === undefined || token.length > MAX_TOKEN_LENGTH) return null;
  return { token, isSession: scheme.toLowerCase() === 'session' };
}

const MAX_HEADER_LENGTH = 2 * MAX_TOKEN_LENGTH; // longer headers are not parsed

/** False if the clock was set back. */
function isFresh({ since }: Known, at: number, cachedMs: number): boolean {
  return at >= since && at - since < cachedMs;
}

function answerAt({ revokedAt, expiresAt, answer }: Known, at: number): Authentication {
  if (revokedAt !== null) return { kind: 'revoked', at: revokedAt };
  const hasExpired = expiresAt !== null && expiresAt.getTime() <= at;
  return hasExpired ? { kind: 'expired', at: expiresAt } : answer;
}

/** Drops scopes that this version does not know, or that an account's key cannot have. */
async function identityOf(
  { accounts, config }: AuthService,
  key: StoredKey,
  sessionId: string | null = null,
): Promise<ApiKeyIdentity | null> {
  const { id, accountId, projectIds } = key;
  if (accountId === null) {
    const known = scopes.filter((scope) => key.scopes.includes(scope));
    return { id, sessionId, scopes: withImplied(known), access: wholeInstallation };
  }
  // After the comparison, so that timing does not reveal which IDs are of an account's keys.
  const account = await accounts.find(wholeInstallation, accountId);
  if (account === null) return null;
  const known = accountScopes.filter((scope) => key.scopes.includes(scope));
  const only = projectIds.length === 0 ? null : projectIds;
  const access = accessTo(accountId, only, limitsOf(account, config.api.accountLimits));
  return { id, sessionId, scopes: known, access };
}

export function allows(key: ApiKeyIdentity, scope: Scope): boolean {
  return key.scopes.includes(scope) || key.scopes.includes('admin');
}

const CHALLENGE = 'Bearer realm="signpost"';

const header = 'Authorization: Bearer <key>';

/** RFC 6750, 3: the error attribute is sent only if a key was given. */
export function unauthorized(refused: Unauthenticated): Refusal {
  const { kind } = refused;
  const message = wordsFor(refused);
  const isMissing = kind === 'missing';
  const challenge = isMissing ? CHALLENGE : `${CHALLENGE}, error="invalid_token"`;
  const error = { field: 'Authorization', code: isMissing ? 'required' : kind, message } as const;
  return refuseFields('unauthorized', message, [error], { 'www-authenticate': challenge });
}

function wordsFor(refused: Unauthenticated): string {
  switch (refused.kind) {
    case 'missing':
      return `An API key is required: ${header}.`;
    case 'not_bearer':
      return `The Authorization header must have this form: ${header}.`;
    case 'unknown':
      return 'This API key does not exist. Check that it is complete.';
    case 'revoked':
      return `This API key was revoked at ${refused.at.toISOString()}.`;
    case 'expired':
      return `This API key expired at ${refused.at.toISOString()}.`;
  }
}

/** RFC 6750, 3.1. */
export function forbidden(
  scope: Scope,
  message = `This operation requires a key with the scope ${scope}.`,
): Refusal {
  return refuse('insufficient_scope', message, {
    'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
  });
}

/** Whether a header value contains an API key or a significant part of one. */
export type IsSecret = (value: string, headers: Headers) => boolean;

/** Shorter parts do not help an attacker guess the rest. */
const PART_LENGTH = 12;

/** Detects keys by their format, API_KEY (`configured`), and parts of the Authorization header. */
export function createIsSecret(configured: string | undefined): IsSecret {
  return (value, { authorization = '' }) =>
    holdsKey(value) ||
    (configured !== undefined && value.includes(configured)) ||
    (value.length >= PART_LENGTH && authorization.includes(value));
}

/** RFC 6750, 2.1; compared in constant time. False if no token is set. */
export function createIsMetricsToken(
  token: string | undefined,
): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => false;
  const wanted = digest(token);
  return (authorization) => {
    const [, given] = /^bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), wanted);
  };
}

/** Hashed to equal length, as timingSafeEqual requires. */
function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
