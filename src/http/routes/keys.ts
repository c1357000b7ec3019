import type { z } from 'zod';
import { digestOf, mintKey, prefixOf } from '../../config/api-key.ts';
import type { Access } from '../../core/access.ts';
import { accountScopes, isAccountScope, type Scope, scopes } from '../../core/operations/scopes.ts';
import {
  type ApiKeyStore,
  isLive,
  type KeyCreation,
  type KeyDetails,
  type RotationResult,
} from '../../db/api-keys.ts';
import type { Service } from '../../service/service.ts';
import { allows, type ForgetCredential, forbidden, unauthorized } from '../keys/auth.ts';
import { CONFIGURED_KEY_ID } from '../keys/first-key.ts';
import { withinLimits } from '../limits/account-limits.ts';
import { cursorAfterText } from '../pipeline/cursor.ts';
import { type ApiResponse, type Refusal, refuse, refuseField } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type ApiKeyIdentity, type Route, route, success } from '../pipeline/route.ts';
import {
  key,
  keyExample,
  keyList,
  keysQuery,
  mintedKey,
  mintedKeyExample,
  newKey,
  rotatedKey,
  rotatedKeyExample,
  rotation,
} from '../schemas/keys.ts';
import { openAccount } from './projects.ts';

const MAX_LIFE_YEARS = 100; // keeps dates in a range that every calendar supports

const mintedHeaders = { location: 'Path of the new key' };
const inCommon = { tag: 'Keys', stability: 'stable' } as const;

/** An account's keys manage only keys of the account, with at most their own scopes. */
export function keyRoutes(service: Service, forget: ForgetCredential): readonly Route[] {
  return [
    listKeys(service),
    createKey(service),
    getSelf(service),
    getKey(service),
    rotateKey(service, forget),
    revokeKey(service, forget),
  ];
}

function listKeys({ apiKeys, now }: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/keys',
    scope: 'keys:read',
    operationId: 'listKeys',
    summary: 'List keys',
    description:
      "Lists keys in pages, oldest first, including expired and revoked ones. With an account's key, the keys of this account.",
    query: keysQuery,
    success: success(200, 'A page of keys', keyList, [keyExample]),
    handle: async ({ access, query: { limit, cursor = null } }) => {
      const at = now();
      const page = await apiKeys.list(access, { after: cursor, limit });
      return pageAnswer(page, cursorAfterText, (one) => keyView(one, at));
    },
  });
}

/** The token is only in this response and not stored. Idempotency-Key prevents a second key. */
function createKey(service: Service): Route {
  const { apiKeys, now } = service;
  return route({
    ...inCommon,
    at: 'POST /v1/keys',
    scope: 'keys:write',
    operationId: 'createKey',
    summary: 'Create a key',
    description:
      'The new key ends with the key that creates it: when that one expires or is revoked. Without `expiresAt`, it expires with it. The response shows the token once: only a digest is stored. A response replayed for an Idempotency-Key has null instead.',
    body: newKey,
    bodyExample: { name: keyExample.name, scopes: keyExample.scopes },
    success: success(201, 'The key was created', mintedKey, mintedKeyExample, mintedHeaders),
    refusals: ['account_not_found', 'account_closed', 'limit_reached', 'outlives_maker'],
    handle: async ({ access, key: asking, body }) => {
      const { name, scopes, projectIds, expiresAt } = body;
      const at = now();
      const accountId = body.accountId ?? (access.kind === 'account' ? access.accountId : null);
      const unfit = refuseGrant(body, accountId, asking) ?? refuseExpiry(expiresAt ?? null, at);
      if (unfit !== null) return unfit;
      const { id, token } = mintKey();
      const granted = { name, digest: digestOf(token), scopes, accountId, projectIds, expiresAt };
      const madeBy = asking?.id ?? null;
      const create = async () => {
        const made = await apiKeys.create(access, { id, ...granted, madeBy, createdAt: at });
        return made.kind === 'created'
          ? minted(keyView(made.key, at), token)
          : refuseCreation(made, body, at);
      };
      if (accountId === null) return create();
      const account = await openAccount(service, access, accountId);
      return 'status' in account
        ? account
        : withinLimits(service, access, account, ['keys'], create);
    },
  });
}

function getSelf({ apiKeys, now }: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/keys/self',
    scope: 'any',
    operationId: 'getOwnKey',
    summary: 'Show the current key',
    description: 'Scopes and expiry of the key that sends the request.',
    success: success(200, 'The key', key, keyExample),
    handle: async ({ key: asking }) => {
      const found = asking && (await apiKeys.get(asking.access, asking.id));
      // Keys are never deleted, except API_KEY when its value changes (src/db/api-keys.ts).
      if (!found) throw new Error('an authenticated key is missing in the database');
      return { status: 200, body: keyView(found, now()) };
    },
  });
}

function getKey({ apiKeys, now }: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/keys/:keyId',
    scope: 'keys:read',
    operationId: 'getKey',
    summary: 'Show a key',
    success: success(200, 'The key', key, keyExample),
    refusals: ['key_not_found'],
    handle: async ({ access, params }) => {
      if (!isKeyId(params.keyId)) return refuse('key_not_found');
      const found = await apiKeys.get(access, params.keyId);
      return found === null
        ? refuse('key_not_found')
        : { status: 200, body: keyView(found, now()) };
    },
  });
}

/** Sets the old key's expiry and stores the successor in one transaction. */
function rotateKey({ apiKeys, now }: Service, forget: ForgetCredential): Route {
  return route({
    ...inCommon,
    at: 'POST /v1/keys/:keyId/rotate',
    scope: 'keys:write',
    operationId: 'rotateKey',
    summary: 'Rotate a key',
    description:
      'The new key has the same name, scopes and lifetime, but does not outlive the key that made the old one. `replaces` says what the rotation extends: the keys that the old one made go on with the new one. The old key and its sessions end after the grace period. Both keys work until the grace period ends. At most two keys of one rotation chain work at the same time. The response shows the token once; a response replayed for an Idempotency-Key has null instead.',
    body: rotation,
    bodyExample: { graceSeconds: 86_400 },
    bodyIsOptional: true,
    success: success(201, 'The new key', rotatedKey, rotatedKeyExample, mintedHeaders),
    refusals: [
      'key_not_found',
      'key_ended',
      'key_rotated',
      'rotation_under_way',
      'last_admin_key',
      'outlives_maker',
    ],
    handle: async ({ access, key: asking, params: { keyId }, body: { graceSeconds } }) => {
      if (!isKeyId(keyId)) return refuse('key_not_found');
      const unfit = await refuseStronger(apiKeys, access, asking, keyId);
      if (unfit !== null) return unfit;
      const at = now();
      const { id, token } = mintKey();
      const successor = { id, digest: digestOf(token) };
      const graceMs = graceSeconds * 1_000;
      const askerId = asking?.id ?? null;
      const rotation = { askerId, successor, graceMs, now: at };
      const result = await apiKeys.rotate(access, keyId, rotation);
      if (result.kind !== 'rotated') return refuseRotation(result);
      const forgetOld = async () => forget(keyId);
      const { endsAt: expiresAt, movedIds: keyIds } = result;
      const replaces = { id: keyId, expiresAt, keyIds };
      const view = { ...keyView(result.successor, at), replaces };
      return { ...minted(view, token), afterCommit: forgetOld };
    },
  });
}

/** Idempotent. The last key with `admin` cannot be revoked. */
function revokeKey({ apiKeys, now }: Service, forget: ForgetCredential): Route {
  return route({
    ...inCommon,
    at: 'DELETE /v1/keys/:keyId',
    scope: 'keys:write',
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    description:
      'All processes refuse the key within 5 seconds, and every key that it made. Their sessions and event streams end. Revoking it again changes nothing. An unknown ID answers 404, so a typo does not look like a revoked key.',
    success: success(204, 'The key is revoked'),
    refusals: ['key_not_found', 'last_admin_key'],
    handle: async ({ access, key: asking, params: { keyId } }) => {
      if (!isKeyId(keyId)) return refuse('key_not_found');
      const unfit = await refuseStronger(apiKeys, access, asking, keyId);
      if (unfit !== null) return unfit;
      const result = await apiKeys.revoke(access, keyId, now());
      if (result.kind !== 'revoked') {
        return refuse(result.kind === 'not_found' ? 'key_not_found' : 'last_admin_key');
      }
      const { endedIds } = result;
      return { status: 204, afterCommit: async () => endedIds.forEach(forget) };
    },
  });
}

/** The copy stored for replays has no token. */
function minted(view: ReturnType<typeof keyView>, token: string): ApiResponse {
  return {
    status: 201,
    body: { ...view, key: token },
    replayBody: { ...view, key: null },
    headers: { location: `/v1/keys/${view.id}` },
  };
}

function refuseCreation(
  made: Exclude<KeyCreation, { kind: 'created' }>,
  body: z.infer<typeof newKey>,
  at: Date,
): Refusal {
  switch (made.kind) {
    case 'account_closed':
      return refuse('account_closed');
    case 'maker_ended':
      return unauthorized({ kind: 'revoked', at }); // expiry is noticed before
    case 'project_not_found':
      return refuseProject(body, made.projectId);
    case 'outlives_maker':
      return refuse(
        'outlives_maker',
        `The key that creates it ends at ${made.endsAt.toISOString()}. Set an earlier expiresAt, or omit it.`,
      );
  }
}

function refuseRotation(result: Exclude<RotationResult, { kind: 'rotated' }>): Refusal {
  if (result.kind === 'last_admin') {
    return refuse(
      'last_admin_key',
      'This is the last key with admin: set a grace period, otherwise losing this response locks everyone out.',
    );
  }
  if (result.kind === 'outlives_asker') {
    return refuse(
      'outlives_maker',
      `Your key ends at ${result.endsAt.toISOString()}, before the new key would. Rotate it with a key that lives longer.`,
    );
  }
  if (result.kind !== 'predecessor_live') return refuse(rotationCodes[result.kind]);
  const { predecessorId, endsAt } = result;
  return refuse(
    'rotation_under_way',
    `Its predecessor ${predecessorId} works until ${endsAt.toISOString()}. Revoke the predecessor, or rotate with graceSeconds 0.`,
  );
}

const rotationCodes = {
  not_found: 'key_not_found',
  ended: 'key_ended',
  has_successor: 'key_rotated',
  made_asker: 'outlives_maker',
} as const;

function refuseExpiry(expiresAt: Date | null, at: Date): Refusal | null {
  if (expiresAt === null || liesAhead(expiresAt, at)) return null;
  const message = 'must be in the future, and within 100 years';
  return refuseField('invalid_body', 'expiresAt', message);
}

function liesAhead(time: Date, now: Date): boolean {
  const furthest = new Date(now);
  furthest.setUTCFullYear(now.getUTCFullYear() + MAX_LIFE_YEARS);
  return time > now && time <= furthest;
}

/** The Key of docs/integrate/keys.md. Omits scopes that this version does not know. */
function keyView(details: KeyDetails, now: Date) {
  const { id, accountId, projectIds, revokedAt } = details;
  return {
    id,
    prefix: id === CONFIGURED_KEY_ID ? null : prefixOf(id),
    name: details.name,
    scopes: scopes.filter((one) => details.scopes.includes(one)),
    accountId,
    projectIds: projectIds.length === 0 ? null : projectIds,
    status: revokedAt !== null ? 'revoked' : isLive(details, now) ? 'active' : 'expired',
    createdAt: details.createdAt,
    expiresAt: details.expiresAt,
    revokedAt,
    lastUsedAt: details.lastUsedAt,
    successorId: details.successorId,
    madeBy: details.madeBy,
    deprecatedUses: details.deprecatedUses,
  };
}

// What a key can give to another one, and which keys it can manage.

/** What a key of the account, or of the installation, can be given by this key. */
function refuseGrant(
  { scopes: wanted, projectIds }: z.infer<typeof newKey>,
  accountId: string | null,
  asking: ApiKeyIdentity | null,
): Refusal | null {
  const isForAccount = accountId !== null;
  const wrong = wanted.findIndex((scope) =>
    isForAccount ? !isAccountScope(scope) : accountOnly.includes(scope),
  );
  if (wrong >= 0) {
    const message = isForAccount
      ? `${wanted[wrong]} is about the whole installation; a key of an account can have ${accountScopes.join(', ')}`
      : `${wanted[wrong]} is for keys of an account; a key of the installation needs admin`;
    return refuseField('invalid_body', `scopes[${wrong}]`, message, 'not_allowed');
  }
  if (projectIds !== undefined && !isForAccount) {
    return refuseField('invalid_body', 'projectIds', 'requires accountId');
  }
  const managing = wanted.findIndex((scope) => accountOnly.includes(scope));
  if (projectIds !== undefined && managing >= 0) {
    const message = 'is about all keys of the account, so it cannot be restricted to projects';
    return refuseField('invalid_body', `scopes[${managing}]`, message, 'not_allowed');
  }
  const missing = wanted.find((scope) => asking === null || !allows(asking, scope));
  if (missing === undefined) return null;
  return forbidden(missing, `A key can give only its own scopes, and yours lacks ${missing}.`);
}

const accountOnly: readonly Scope[] = ['keys:read', 'keys:write'];

function refuseProject({ projectIds = [] }: z.infer<typeof newKey>, projectId: string): Refusal {
  const field = `projectIds[${projectIds.indexOf(projectId)}]`;
  return refuseField('invalid_body', field, 'is not a project of this account');
}

/** Prevents a caller from gaining scopes through another key. */
export async function refuseStronger(
  apiKeys: Pick<ApiKeyStore, 'get'>,
  access: Access,
  asking: ApiKeyIdentity | null,
  keyId: string,
): Promise<Refusal | null> {
  const found = isKeyId(keyId) ? await apiKeys.get(access, keyId) : null;
  if (found === null) return refuse('key_not_found');
  const known = scopes.filter((scope) => found.scopes.includes(scope));
  const missing = known.find((scope) => asking === null || !allows(asking, scope));
  if (missing === undefined) return null;
  return forbidden(missing, `That key has the scope ${missing}, which yours lacks.`);
}

/** PostgreSQL fails on a text with NUL. */
function isKeyId(text: string): boolean {
  return /^[0-9A-Za-z]+$/.test(text);
}
