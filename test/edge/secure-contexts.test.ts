/** Contexts of TLS that have made room for others: what OpenSSL holds for them is freed, and not before they were used. */
import { setImmediate as turn } from 'node:timers/promises';
import type { SecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { createSecureContexts } from '../../src/edge/tls/secure-contexts.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';

it('frees those that it no longer keeps, after whoever was given them has used them', async () => {
  const certificate = await localhostCertificate();
  const contexts = createSecureContexts({ loadCertificate: async () => certificate }, 1);
  const did: string[] = [];
  const use = (id: string) => (made: SecureContext | null) => {
    did.push(`used ${id}`);
    const { context } = made ?? {};
    const close = context.close.bind(context);
    context.close = () => {
      did.push(`freed ${id}`);
      close();
    };
  };
  await Promise.all(['a', 'b'].map((id) => contexts(id).then(use(id))));
  await turn();
  expect(did).toEqual(['used a', 'used b', 'freed a']);
  await contexts('b');
  await turn();
  expect(did).toHaveLength(3);
});
