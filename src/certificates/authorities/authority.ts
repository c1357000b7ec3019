/** What a certificate authority does for us, whichever it is: one order, in steps that can be taken up again. */
import type { KeyObject } from 'node:crypto';
import type { PlacedAs } from '../../core/certificates/budget.ts';
import type { ProblemType } from '../../core/certificates/problem-words.ts';
import type { RenewalWindow } from '../../core/certificates/renewal-information.ts';
import { isCertificateFault } from '../fault.ts';

export type OrderProblem = {
  readonly type: ProblemType;
  /** The authority's words for a person to read: one line, printable, at most 500 characters. Never compared. */
  readonly detail: string;
  /** The authority asked for no further order before then. */
  readonly retryAfter: Date | null;
};

export type OrderState = {
  /** ASCII, lower case, no trailing dot. */
  readonly hostname: string;
  /** What `orderPlaced` was told, or null before. */
  readonly orderUrl: string | null;
  /** The certificate's own key; the same one every time an order is taken up again. */
  readonly privateKey: KeyObject;
  /** PEM chain of the certificate that this one is to replace; missing: there is none. */
  readonly predecessor?: string | undefined;
};

/** What the caller keeps. Each is awaited before the authority hears more; each may be called again with the same. */
export type OrderSteps = {
  /** The order is about to be placed. Throws a CertificateFault where that must wait. */
  readonly beforePlacing: (kind: PlacedAs) => Promise<void>;
  readonly orderPlaced: (orderUrl: string) => Promise<void>;
  /** The edge must answer the challenge once this resolves (RFC 8555, 8.3; RFC 8737, 3). */
  readonly publishChallenge: (challenge: Challenge) => Promise<void>;
};

/** How a name is proved: at port 80 (RFC 8555, 8.3) or within a handshake at port 443 (RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01';

export type Challenge = {
  readonly type: ChallengeType;
  readonly token: string;
  readonly keyAuthorization: string;
};

export type Issued = {
  readonly kind: 'issued';
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly issuer: string;
};

/** The authority said no: this order is over, and a new one may be tried later. */
export type Refused = { readonly kind: 'refused'; readonly problem: OrderProblem };

export type OrderResult = Issued | Refused;

/** When the authority wants a certificate renewed (RFC 9773). */
export type RenewalInformation = {
  readonly window: RenewalWindow;
  /** A page for an operator on why the window is what it is. */
  readonly explanationUrl: string | null;
  /** The window may change by then: a minute to a day from now. */
  readonly askAgainAt: Date;
};

export type CertificateAuthority = {
  readonly name: string;
  /** Our account there, for CAA's `accounturi` (RFC 8657, 3); null while there is none. Asks nobody outside. */
  readonly accountUri: () => Promise<string | null>;
  /**
   * Places an order or takes up `orderUrl`, and follows it to its end. Throws a CertificateFault where the
   * authority could not be asked or did not finish; the order is then still open and `advance` goes on with it.
   */
  readonly advance: (order: OrderState, steps: OrderSteps) => Promise<OrderResult>;
  /** Whether it answers at all, at no cost. Throws a CertificateFault where it does not. */
  readonly reach: () => Promise<void>;
  /**
   * When it wants this certificate (a PEM chain) renewed; null where it has no opinion, or does not know the certificate.
   * Throws a CertificateFault where it could not be asked.
   */
  readonly renewalInfo: (chain: string) => Promise<RenewalInformation | null>;
};

export type ConfiguredAuthority = {
  /** As `certificate.authority` has it; null for the local one, and where an edge of another make has its own. */
  readonly directoryUrl: string | null;
  readonly authority: CertificateAuthority;
  /** Its CAA identities, lower case. */
  readonly issuerDomains: readonly [string, ...string[]];
};

/** At least one, the first choice first. */
export type Authorities = readonly [ConfiguredAuthority, ...ConfiguredAuthority[]];

/** Null where the authority of an order or certificate is none of ours any more. */
export function authorityOf(
  authorities: Authorities,
  { authority }: { readonly authority: string | null },
): ConfiguredAuthority | null {
  // Orders of before there were several do not say: there was the first alone.
  if (authority === null) return authorities[0];
  return authorities.find(({ directoryUrl }) => directoryUrl === authority) ?? null;
}

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
