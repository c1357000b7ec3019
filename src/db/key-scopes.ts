/**
 * Scopes of keys at rest. Those of an account's key have a prefix that versions without accounts do not know: to them the key
 * may do nothing, rather than everything everywhere, and neither may a successor that they make of it.
 */
import type { ApiKey } from './generated/client.ts';

const PREFIX = 'account:';

/** As they are stored, for a key of this account, or of the installation. */
export function storedScopes(scopes: readonly string[], accountId: string | null): string[] {
  return accountId === null ? [...scopes] : scopes.map((scope) => PREFIX + scope);
}

/** As the key has them. Of the installation's, prefixed ones stay as they are, and allow nothing. */
export function heldScopes({
  scopes,
  accountId,
}: {
  readonly scopes: readonly string[];
  readonly accountId: string | null;
}): string[] {
  if (accountId === null) return [...scopes];
  return scopes.flatMap((scope) => (scope.startsWith(PREFIX) ? [scope.slice(PREFIX.length)] : []));
}

/** A row with its scopes as the key has them. */
export function withHeldScopes<Row extends Pick<ApiKey, 'scopes' | 'accountId'>>(row: Row): Row {
  return { ...row, scopes: heldScopes(row) };
}
