/** Scopes at rest: what a version without accounts makes of them, and this one of what that version left behind. */
import { describe, expect, it } from 'vitest';
import { heldScopes, storedScopes } from '../../src/db/key-scopes.ts';
import { scopes as known } from '../../src/http/pipeline/route.ts';

/** As the version before accounts read them: those that it knew, whatever the account. */
const toVersionBefore = (stored: readonly string[]) =>
  known.filter((scope) => stored.includes(scope));

describe('the scopes of an account’s key', () => {
  const held = ['domains:read', 'domains:write', 'admin'];
  const stored = storedScopes(held, 'an account');

  it('are read as they were given', () => {
    expect(heldScopes({ scopes: stored, accountId: 'an account' })).toEqual(held);
  });

  it('allow nothing to a version without accounts', () => {
    expect(toVersionBefore(stored)).toEqual([]);
  });

  it('allow nothing to a successor that such a version made of it', () => {
    const left = heldScopes({ scopes: stored, accountId: null });
    expect(toVersionBefore(left)).toEqual([]);
  });

  it('are none where such a version stored them for the account', () => {
    expect(heldScopes({ scopes: ['admin'], accountId: 'an account' })).toEqual([]);
  });
});

it('the scopes of an installation’s key are stored as every version knows them', () => {
  expect(storedScopes(['admin'], null)).toEqual(['admin']);
  expect(heldScopes({ scopes: ['admin'], accountId: null })).toEqual(['admin']);
});
