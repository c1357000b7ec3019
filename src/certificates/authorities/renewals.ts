/** What a renewal has to do with the certificate before it (RFC 9773), of whichever authority that is. */

import { isCertificateFault } from '../fault.ts';
import { type Authorities, authorityOf, type RenewalInformation } from './authority.ts';

/** The authority could not be asked, or gave no answer that can be used. */
export type Silence = {
  readonly kind: 'silence';
  readonly retryAfter: Date | null;
  /** There was no answer at all, so that there is none for its other certificates either. */
  readonly isAway: boolean;
};

/** A certificate's row, as far as it counts here. */
type Kept = {
  readonly authority: string | null;
  readonly sealedKey: Uint8Array | null;
  readonly chain: string | null;
};

/**
 * When the authority of a certificate wants it renewed; null where that has no opinion on it, is none of ours any more, or
 * another edge has the certificate.
 */
export async function askRenewal(
  authorities: Authorities,
  certificate: Kept,
): Promise<RenewalInformation | Silence | null> {
  const { chain, sealedKey } = certificate;
  const asked = authorityOf(authorities, certificate);
  if (asked === null || sealedKey === null || chain === null) return null;
  try {
    return await asked.authority.renewalInfo(chain);
  } catch (fault) {
    if (!isCertificateFault(fault)) throw fault;
    const { code, retryAfter } = fault;
    return { kind: 'silence', retryAfter, isAway: code === 'ca_unreachable' };
  }
}

/** The chain to name in an order as what it replaces: to another authority it would say nothing. */
export function predecessorOf(
  authorities: Authorities,
  order: Pick<Kept, 'authority'>,
  before: Kept | null,
): string | undefined {
  if (before === null || before.chain === null) return undefined;
  const isSame = authorityOf(authorities, before) === authorityOf(authorities, order);
  return isSame ? before.chain : undefined;
}
