/** Asks an ACME server when it wants a certificate renewed (RFC 9773, 4). */

import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import {
  askAgainAt,
  certificateId,
  renewalWindow,
} from '../../core/certificates/renewal-information.ts';
import type { RenewalInformation } from '../authorities/authority.ts';
import { certificateFault } from '../fault.ts';
import { loadX509 } from '../x509.ts';
import { faultOf, parseJson, retryAfterOf } from './problems.ts';
import type { AcmeSession } from './session.ts';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const schema = z.object({
  suggestedWindow: z.object({ start: time, end: time }),
  explanationURL: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .catch(undefined),
});

/**
 * Resolves with the window in which the server wants the certificate renewed, and when to ask again. Null where the
 * server offers no such information, or does not know the certificate. Throws a CertificateFault for every other answer.
 */
export async function fetchRenewalInfo(
  session: Pick<AcmeSession, 'directory' | 'get'>,
  chain: string,
  now: () => Date,
): Promise<RenewalInformation | null> {
  const { renewalInfo } = await session.directory();
  const id = renewalInfo === undefined ? null : await certificateIdOf(chain);
  if (id === null) return null;
  const reply = await session.get(`${renewalInfo}/${id}`); // no signature: RFC 9773, 6
  if (reply.status === 404) return null;
  if (reply.status !== 200) throw faultOf(reply, now());
  const parsed = schema.safeParse(parseJson(reply.body));
  const window =
    parsed.success &&
    renewalWindow(parsed.data.suggestedWindow.start, parsed.data.suggestedWindow.end);
  if (!window) {
    throw certificateFault('ca_answer_unreadable', 'this is no renewal window', {
      cause: parsed.error,
    });
  }
  return {
    window,
    explanationUrl: parsed.data.explanationURL ?? null,
    askAgainAt: askAgainAt(now(), retryAfterOf(reply, now())),
  };
}

/**
 * Resolves with the identifier of RFC 9773 for the first certificate of a PEM chain; null where that does not name the
 * key that signed it. Throws `ca_answer_unreadable` for what is no certificate.
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
