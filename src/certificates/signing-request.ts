/** Certificate signing requests (PKCS #10, RFC 2986). */
import type { KeyObject } from 'node:crypto';
import { ECDSA_SHA256, toCryptoKeys } from './keys.ts';
import { loadX509 } from './x509-library.ts';

/**
 * A request in DER for one host name (ASCII), signed with its P-256 key. The subject stays empty: the name is
 * in the subjectAltName (RFC 8555, 7.4 allows it), where it may be longer than a common name's 64 characters.
 */
export async function createSigningRequest(hostname: string, key: KeyObject): Promise<Buffer> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await loadX509();
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: await toCryptoKeys(key),
    signingAlgorithm: ECDSA_SHA256,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }])],
  });
  return Buffer.from(request.rawData);
}
