import { signLeaf, signRoot } from '../../src/certificates/authorities/sign.ts';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

/** For a host name, in PEM. */
export async function certificateFor(hostname: string) {
  const validity = {
    notBefore: new Date(Date.now() - YEAR_MS),
    notAfter: new Date(Date.now() + YEAR_MS),
  };
  const rootKey = generatePrivateKey();
  const root = await signRoot({ ...validity, commonName: 'Test root', key: rootKey });
  const key = generatePrivateKey();
  const leaf = { ...validity, hostname, key };
  const cert = await signLeaf(leaf, { certificate: root, key: rootKey });
  return { root, tls: { key: privateKeyToPem(key), cert } };
}
