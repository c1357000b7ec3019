/** The key that a new installation starts with. */

import { apiKeyProblem, digestOf, mintKey } from '../../config/api-key.ts';
import type { Scope } from '../pipeline/route.ts';

/** The id of API_KEY, which has none in it that could be read. */
export const CONFIGURED_KEY_ID = 'configured';

type FirstKey = {
  readonly id: string;
  readonly name: string;
  readonly digest: Uint8Array<ArrayBuffer>;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
};

/** What src/db/api-keys.ts offers of it. */
export type FirstKeyStore = {
  /** False where there is a key already. */
  createFirst(key: FirstKey): Promise<boolean>;
  put(key: FirstKey): Promise<void>;
};

/**
 * Sees to it that an administrator can get in. API_KEY, where it is set, becomes an admin key (replacing the
 * API_KEY of an earlier start); otherwise, where no key exists at all, one is made and returned to be
 * shown once. Throws where API_KEY could never be accepted (see apiKeyProblem).
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
