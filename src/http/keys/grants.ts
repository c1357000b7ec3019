/** What a key can give to another one, and which keys it can manage. */
import type { z } from 'zod';
import type { Access } from '../../core/access.ts';
import { accountScopes, isAccountScope, type Scope, scopes } from '../../core/operations/scopes.ts';
import type { ApiKeyStore } from '../../db/api-keys.ts';
import { type Refusal, refuse, refuseField } from '../pipeline/errors.ts';
import type { ApiKeyIdentity } from '../pipeline/route.ts';
import type { newKey } from '../schemas/keys.ts';
import { allows, forbidden } from './auth.ts';

/** What a key of the account, or of the installation, can be given by this key. */
export function refuseGrant(
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

export function refuseProject(
  { projectIds = [] }: z.infer<typeof newKey>,
  projectId: string,
): Refusal {
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
export function isKeyId(text: string): boolean {
  return /^[0-9A-Za-z]+$/.test(text);
}
