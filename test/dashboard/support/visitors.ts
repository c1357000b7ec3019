/** Who signs in to the pages without a socket, and whether a cookie is still worth something. */
import { digestOf, mintKey } from '../../../src/config/api-key.ts';
import { installation } from '../../../src/core/accounts/access.ts';
import { createAccountStore } from '../../../src/db/accounts.ts';
import { createApiKeyStore } from '../../../src/db/api-keys.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import type { Scope } from '../../../src/http/pipeline/route.ts';
import type { Pages } from './pages.ts';

/** `pages`: called when one of them is, which is once they are there. */
export function visitorsOf(pages: () => Pages) {
  /** A key of a new account. */
  async function customer(name: string, ...scopes: readonly Scope[]) {
    const account = await createAccountStore(pages().prisma).create(installation, {
      name,
      limits: {},
    });
    const { id, token } = mintKey();
    const key = { id, name, digest: digestOf(token), scopes, createdAt: pages().clock.now };
    await createApiKeyStore(pages().prisma).create(account.id, key);
    return { token, account };
  }

  /** Whether who has this cookie is signed in, as this process or the one beside it sees it. */
  async function isIn(
    cookie: string | undefined,
    api: Pick<Api, 'handle'> = pages().api,
  ): Promise<boolean> {
    const answer = await api.handle({
      method: 'GET',
      target: '/sessions',
      headers: { accept: 'text/html', cookie },
      readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
      remoteAddress: '127.0.0.1',
    });
    return answer.status === 200;
  }

  async function signedIn(key: string, headers = {}): Promise<string | undefined> {
    pages().forgetCookie();
    await pages().show('POST /sign-in', { form: { key }, headers });
    return pages().cookie();
  }

  return { customer, isIn, signedIn };
}
