/** The key that a new installation starts with. */

import { apiKeyProblem, digestOf, mintKey } from '../../config/api-key.ts';
import type { Scope } from '../pipeline/route.ts';

/** The id that API_KEY is stored under, whatever its text. No key of our making has it. */
export const CONFIGURED_KEY_ID = 'configured';

/** A key to be stored; of the token it has the SHA-256 only. */
type FirstKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Uint8Array<ArrayBuffer>;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
};

/** What src/db/api-keys.ts offers of it. */
export type FirstKeyStore = {
  /** Stores the key unless there is any key already; false where there is one. Of several processes one succeeds. */
  createFirst(key: FirstKey): Promise<boolean>;
  /**
   * Makes this the key with its id, in place of the one before. Where a key with the same digest is stored already, nothing
   * changes: a restart does not bring a revoked API_KEY back.
   */
  put(key: FirstKey): Promise<void>;
};

/**
 * Makes sure that an administrator has a key. API_KEY (`configured`), where it is set, becomes an admin key in place of the
 * API_KEY of an earlier start; otherwise, where no key exists at all, one is made and its token returned as `created`, to be
 * shown once. `created` is null in every other case. Throws where API_KEY could never be accepted (see apiKeyProblem).
 */
export async function ensureApiKey(
  keys: FirstKeyStore,
  { configured, now }: { readonly configured: string | undefined; readonly now: Date },
): Promise<{ readonly created: string | null }> {
  if (configured !== undefined) {
    const problem = apiKeyProblem(configured);
    if (problem !== null) throw new Error(`API_KEY ${problem}`);
    await keys.put(adminKey(CONFIGURED_KEY_ID, 'API_KEY', configured, now));
    return { created: null };
  }
  const { id, token } = mintKey();
  const stored = await keys.createFirst(adminKey(id, 'first key', token, now));
  return { created: stored ? token : null };
}

function adminKey(id: string, name: string, token: string, createdAt: Date): FirstKey {
  return { id, name, digest: digestOf(token), scopes: ['admin'], createdAt };
}
