/** Creates the first key of a new installation. */

import { apiKeyProblem, digestOf, mintKey } from '../../config/api-key.ts';
import type { Scope } from '../pipeline/route.ts';

/** The ID that API_KEY is stored under. Generated keys never have it. */
export const CONFIGURED_KEY_ID = 'configured';

/** A key to store, without its token. */
type FirstKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Uint8Array<ArrayBuffer>;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
};

export type FirstKeyStore = {
  /**
   * Stores the key unless any key exists; returns whether it did. Of several processes, only one
   * succeeds.
   */
  createFirst(key: FirstKey): Promise<boolean>;
  /**
   * Replaces the key with this ID. Does nothing if a key with the same digest exists, so a restart
   * does not reactivate a revoked API_KEY.
   */
  put(key: FirstKey): Promise<void>;
};

/**
 * Ensures that an administrator has a key. If API_KEY (`configured`) is set, it replaces the
 * API_KEY of an earlier start. Otherwise, if no key exists, a key is created and its token returned
 * as `created`, to be shown once. Throws if API_KEY is invalid (see apiKeyProblem).
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
