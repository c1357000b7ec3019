import { apiKeyProblem, digestOf, mintKey } from '../../config/api-key.ts';
import type { ApiKeyStore } from '../../db/api-keys.ts';

/** The ID that API_KEY is stored under. Generated keys have other IDs. */
export const CONFIGURED_KEY_ID = 'configured';

/**
 * Stores API_KEY (`configured`) or, if no key exists, a new key. `created` is its token, to be
 * shown once. Throws if API_KEY is invalid.
 */
export async function ensureApiKey(
  keys: Pick<ApiKeyStore, 'createFirst' | 'put'>,
  {
    configured,
    now,
    record,
  }: {
    readonly configured: string | undefined;
    readonly now: Date;
    /** Called for a new key. */
    readonly record: (keyId: string) => Promise<unknown>;
  },
): Promise<{ readonly created: string | null }> {
  if (configured !== undefined) {
    const problem = apiKeyProblem(configured);
    if (problem !== null) throw new Error(`API_KEY ${problem}`);
    const isNew = await keys.put(adminKey(CONFIGURED_KEY_ID, 'API_KEY', configured, now));
    if (isNew) await record(CONFIGURED_KEY_ID);
    return { created: null };
  }
  const { id, token } = mintKey();
  const stored = await keys.createFirst(adminKey(id, 'first key', token, now));
  if (stored) await record(id);
  return { created: stored ? token : null };
}

function adminKey(id: string, name: string, token: string, createdAt: Date) {
  return { id, name, digest: digestOf(token), scopes: ['admin'], createdAt } as const;
}
