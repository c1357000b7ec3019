/** API keys: made, shown, rotated and revoked by whoever holds an admin key. */
import { digestOf, mintKey, prefixOf } from '../../config/api-key.ts';
import type { Subject } from '../../core/operations/audit.ts';
import type { WithinLimits } from '../../db/account-limits.ts';
import {
  type ApiKeyStore,
  isLive,
  type KeyDetails,
  type RotationResult,
} from '../../db/api-keys.ts';
import { CONFIGURED_KEY_ID } from '../keys/first-key.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf, placeOfMade } from '../pipeline/page.ts';
import { type Route, route, scopes } from '../pipeline/route.ts';
import {
  isKeyId,
  keyExample,
  keyList,
  keyQuery,
  key as keySchema,
  mintedKey,
  mintedKeyExample,
  newKey,
  rotation,
} from '../schemas/keys.ts';
import { refuseMaking } from './account-limits.ts';
import { type ReachDeps, reachOf } from './key-reach.ts';

/** What the operations on keys call. */
export type KeyRoutesDeps = ReachDeps & {
  readonly keys: ApiKeyStore;
  readonly withinLimits: WithinLimits;
  /** Has this process read a key again at its next use (src/http/keys/auth.ts); the others do so within 5 s. */
  readonly forget: (keyId: string) => void;
  readonly now: () => Date;
};

const MAX_LIFE_YEARS = 100; // our choice: a time that every calendar knows; for longer there is no end at all

const mintedHeaders = { location: 'The path of the new key' };
const keysPath = '/v1/keys';
const inCommon = { tag: 'Keys', scope: 'admin', stability: 'beta' } as const;

/** The operations on keys. All need `admin` but that which shows the key that asks. */
export function keyRoutes(deps: KeyRoutesDeps): readonly Route[] {
  return [listKeys, createKey, getSelf, getKey, rotateKey, revokeKey].map((make) => make(deps));
}

/** A page of them. */
function listKeys({ keys, now }: KeyRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: keysPath,
    operationId: 'listKeys',
    summary: 'List keys',
    description:
      'The keys that the one that asks may manage, oldest first, those that have ended among them.',
    query: keyQuery,
    success: {
      status: 200,
      description: 'A page of keys',
      schema: keyList,
      example: [keyExample],
      headers: linkDocs('keys'),
    },
    handle: async ({ key, query }) => {
      const at = now();
      const found = await keys.list(key.access, asked(query));
      const listed = { path: keysPath, limit: query.limit };
      const { rows, headers } = pageOf(found, placeOfMade, listed);
      return { status: 200, body: rows.map((one) => keyView(one, at)), headers };
    },
  });
}

/**
 * The answer has the token, which is stored nowhere. A repeated request with the same Idempotency-Key makes no second key.
 */
function createKey(deps: KeyRoutesDeps): Route {
  const { keys, withinLimits, now } = deps;
  return route({
    ...inCommon,
    audits: 'key',
    method: 'POST',
    path: keysPath,
    operationId: 'createKey',
    summary: 'Make a key',
    description:
      'The answer shows the token, once: only a digest of it is stored. A replay for an Idempotency-Key has null in its place.',
    body: newKey,
    bodyExample: { name: keyExample.name, scopes: keyExample.scopes },
    success: {
      status: 201,
      description: 'The key was made',
      schema: mintedKey,
      example: mintedKeyExample,
      headers: mintedHeaders,
    },
    refusals: ['account_not_found', 'project_not_found', 'account_limit'],
    handle: async ({ key, body: { name, scopes, expiresAt = null, ...restriction } }) => {
      const at = now();
      if (expiresAt !== null && !liesAhead(expiresAt, at)) {
        return refuse('invalid_body', 'expiresAt: must be in the future, and within 100 years');
      }
      const reach = await reachOf(deps, key.access, { scopes, ...restriction });
      if ('status' in reach) return reach;
      const { owner, projectIds } = reach;
      const { id, token } = mintKey();
      const digest = digestOf(token);
      const row = { id, name, digest, scopes, createdAt: at, expiresAt, projectIds };
      const made = (stored: KeyDetails) => ({
        ...minted(keyView(stored, at), token),
        about: subjectOf(stored),
      });
      if (typeof owner !== 'string') return made(await keys.create(owner, row));
      const result = await withinLimits(owner, ['keys'], at, () => keys.create(owner, row));
      return result.kind === 'made' ? made(result.made) : refuseMaking(result, at);
    },
  });
}

/** Any key may ask, whatever its scopes. */
function getSelf({ keys, now }: KeyRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: '/v1/keys/self',
    scope: 'any',
    operationId: 'getOwnKey',
    summary: 'Show the key that asks',
    description: 'What the key of this request may do, and until when.',
    success: { status: 200, description: 'The key', schema: keySchema, example: keyExample },
    handle: async ({ key: asking }) => {
      const found = await keys.self(asking.id);
      // A key that works is never deleted but API_KEY, where another one takes its place (src/db/api-keys.ts).
      if (!found) throw new Error('a key was recognised and is not stored');
      return { status: 200, body: keyView(found, now()) };
    },
  });
}

/** Also a key that has expired or was revoked. */
function getKey({ keys, now }: KeyRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: '/v1/keys/:keyId',
    operationId: 'getKey',
    summary: 'Show a key',
    success: { status: 200, description: 'The key', schema: keySchema, example: keyExample },
    refusals: ['key_not_found'],
    handle: async ({ key, params }) => {
      if (!isKeyId(params.keyId)) return refuse('key_not_found');
      const found = await keys.get(key.access, params.keyId);
      return found === null
        ? refuse('key_not_found')
        : { status: 200, body: keyView(found, now()) };
    },
  });
}

/** The old key gets its end and the successor is stored in one transaction. */
function rotateKey({ keys, forget, now }: KeyRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'key',
    method: 'POST',
    path: '/v1/keys/:keyId/rotate',
    operationId: 'rotateKey',
    summary: 'Replace a key with a new one',
    description:
      'The successor has the same name and scopes and as long a life. Both work until the grace is over; of a key and all its successors at most two work at once. The answer shows the token, once; a replay for an Idempotency-Key has null in its place.',
    body: rotation,
    bodyExample: { graceSeconds: 86_400 },
    bodyIsOptional: true,
    success: {
      status: 201,
      description: 'The successor',
      schema: mintedKey,
      example: mintedKeyExample,
      headers: mintedHeaders,
    },
    refusals: ['key_not_found', 'key_ended', 'key_rotated', 'rotation_under_way', 'last_admin_key'],
    handle: async ({ key, params: { keyId }, body: { graceSeconds } }) => {
      if (!isKeyId(keyId)) return refuse('key_not_found');
      const at = now();
      const { id, token } = mintKey();
      const successor = { id, digest: digestOf(token) };
      const graceMs = graceSeconds * 1_000;
      const result = await keys.rotate(key.access, keyId, { successor, graceMs, now: at });
      if (result.kind !== 'rotated') return refuseRotation(result);
      const forgetOld = async () => forget(keyId);
      const about = subjectOf({ ...result.successor, id: keyId });
      return { ...minted(keyView(result.successor, at), token), afterCommit: forgetOld, about };
    },
  });
}

/** Idempotent; the last key with `admin` is not revoked. */
function revokeKey({ keys, forget, now }: KeyRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'key',
    method: 'DELETE',
    path: '/v1/keys/:keyId',
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'It is refused everywhere within 5 seconds. Revoking again changes nothing. An id of no key is 404: who mistypes the id of a leaked key must not believe that it is revoked.',
    success: { status: 204, description: 'The key is revoked' },
    refusals: ['key_not_found', 'last_admin_key'],
    handle: async ({ key, params: { keyId } }) => {
      const found = isKeyId(keyId) ? await keys.get(key.access, keyId) : null;
      if (found === null) return refuse('key_not_found');
      const result = await keys.revoke(key.access, keyId, now());
      if (result === 'not_found') return refuse('key_not_found');
      if (result === 'last_admin') return refuse('last_admin_key');
      return { status: 204, afterCommit: async () => forget(keyId), about: subjectOf(found) };
    },
  });
}

/** 201 with the token, which leaves with this answer alone: what is stored for a replay has null in its place. */
function minted(view: ReturnType<typeof keyView>, token: string): ApiResponse {
  return {
    status: 201,
    body: { ...view, key: token },
    replayBody: { ...view, key: null },
    headers: { location: `/v1/keys/${view.id}` },
  };
}

function subjectOf({ id, accountId }: Pick<KeyDetails, 'id' | 'accountId'>): Subject {
  return { kind: 'key', id, accountId };
}

/** Each reason with the way out, where there is one. */
function refuseRotation(result: Exclude<RotationResult, { kind: 'rotated' }>): Refusal {
  switch (result.kind) {
    case 'not_found':
      return refuse('key_not_found');
    case 'ended':
      return refuse('key_ended');
    case 'has_successor':
      return refuse('key_rotated');
    case 'last_admin':
      return refuse(
        'last_admin_key',
        'This is the last key that may manage keys: leave it a grace, as nobody could help where this answer is lost.',
      );
    case 'predecessor_live': {
      const { predecessorId, endsAt } = result;
      return refuse(
        'rotation_under_way',
        `Its predecessor ${predecessorId} works until ${endsAt.toISOString()}: revoke that one, or rotate with graceSeconds 0.`,
      );
    }
  }
}

/** Whether a time is later than now, and within MAX_LIFE_YEARS. */
function liesAhead(time: Date, now: Date): boolean {
  const furthest = new Date(now);
  furthest.setUTCFullYear(now.getUTCFullYear() + MAX_LIFE_YEARS);
  return time > now && time <= furthest;
}

/**
 * The Key of docs/api.md, without the token. A scope that this version does not know allows nothing, and is not shown.
 * `status` is that of the moment `now`.
 */
export function keyView(details: KeyDetails, now: Date) {
  const { id, scopes: stored, revokedAt } = details;
  return {
    id,
    prefix: id === CONFIGURED_KEY_ID ? null : prefixOf(id),
    name: details.name,
    accountId: details.accountId,
    projectIds: details.projectIds,
    scopes: scopes.filter((one) => stored.includes(one)),
    status: revokedAt !== null ? 'revoked' : isLive(details, now) ? 'active' : 'expired',
    createdAt: details.createdAt,
    expiresAt: details.expiresAt,
    revokedAt,
    lastUsedAt: details.lastUsedAt,
    successorId: details.successorId,
    deprecatedUses: details.deprecatedUses,
  };
}
