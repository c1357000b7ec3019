/** A certificate's name in renewal information (RFC 9773, 4.1), read off the certificate. */
import { X509Certificate } from 'node:crypto';
import { certificateId } from '../../core/renewal-information.ts';
import { certificateFault } from '../fault.ts';
import { loadX509 } from '../x509-library.ts';

/**
 * Of the first certificate of a PEM chain; null where it does not say by which key it was signed. Throws
 * `ca_answer_unreadable` for what is no certificate.
 */
export async function certificateIdOf(chain: string): Promise<string | null> {
  try {
    const leaf = new X509Certificate(chain);
    // Node reads everything of a certificate but this.
    const { AuthorityKeyIdentifierExtension, X509Certificate: Readable } = await loadX509();
    const issuer = new Readable(leaf.raw).getExtension(AuthorityKeyIdentifierExtension);
    if (issuer?.keyId === undefined) return null;
    return certificateId(Buffer.from(issuer.keyId, 'hex'), Buffer.from(leaf.serialNumber, 'hex'));
  } catch (cause) {
    throw certificateFault('ca_answer_unreadable', 'the certificate cannot be read', { cause });
  }
}
