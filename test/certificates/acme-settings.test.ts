import { expect, it } from 'vitest';
import { createAccount } from '../../src/certificates/acme/account.ts';
import { placeOrder } from '../../src/certificates/acme/acme-authority.ts';
import type { AcmeSession } from '../../src/certificates/acme/session.ts';
import { generatePrivateKey } from '../../src/certificates/vault/keys.ts';

const unasked = () => Promise.reject(new Error('unexpected request'));
const directory = {
  newNonce: 'https://ca.example/nonce',
  newAccount: 'https://ca.example/account',
  newOrder: 'https://ca.example/order',
  meta: { externalAccountRequired: true },
};
const session: AcmeSession = {
  directory: async () => directory,
  reach: unasked,
  get: unasked,
  post: unasked,
};

it.each(['ACME', 'ACME_FALLBACK'] as const)('errors name settings of %s', async (settings) => {
  const key = generatePrivateKey();
  const account = createAccount(session, {
    load: async () => ({ key, url: null, contact: null }),
    save: unasked,
    contact: null,
    externalAccount: null,
    settings,
  });
  await expect(account.post({ url: directory.newOrder, payload: {} })).rejects.toThrow(
    `set ${settings}_EAB_KID and ${settings}_EAB_HMAC_KEY`,
  );
  const order = { hostname: 'docs.shop.test', predecessor: null, profile: 'short', settings };
  await expect(placeOrder(account, directory, order, { beforePlacing: unasked })).rejects.toThrow(
    `${settings}_PROFILE is short, but the certificate authority offers no profiles`,
  );
});
