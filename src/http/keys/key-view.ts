/** A key as the API shows it: never a digest, never a token. */

import { prefixOf } from '../../config/api-key.ts';
import { isLive, type KeyDetails } from '../../db/api-keys.ts';
import { scopes } from '../route.ts';
import { CONFIGURED_KEY_ID } from './first-key.ts';

/** The Key of docs/api.md. A scope that this version does not know gives nothing, and is not shown. */
export function keyView(details: KeyDetails, now: Date) {
  const { id, scopes: stored, revokedAt } = details;
  return {
    id,
    prefix: id === CONFIGURED_KEY_ID ? null : prefixOf(id),
    name: details.name,
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
