/** A certificate for `localhost` with its own root, for a loopback server. All three in PEM. */

import { createLocalAuthority } from '../../src/certificates/authorities/local.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';

export async function localhostCertificate(): Promise<{
  chain: string;
  key: string;
  root: string;
}> {
  const authority = createLocalAuthority({
    loadRoot: async () => null,
    keepRoot: async (root) => root,
    isHeld: async (hostname) => hostname === 'localhost',
    now: () => new Date(),
  });
  const privateKey = generatePrivateKey();
  const order = { hostname: 'localhost', orderUrl: 'local:1', privateKey };
  const nothing = async () => {};
  const issued = await authority.advance(order, {
    beforePlacing: nothing,
    orderPlaced: nothing,
    publishChallenge: nothing,
  });
  if (issued.kind !== 'issued') throw new Error('no certificate for localhost');
  const root = await authority.rootCertificate();
  return { chain: issued.chain, key: privateKeyToPem(privateKey), root };
}
