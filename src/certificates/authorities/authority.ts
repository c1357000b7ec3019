/** The interface of a certificate authority (CA): one order, in steps that can be resumed. */
import type { KeyObject } from 'node:crypto';
import type { PlacedAs } from '../../core/certificates/budget.ts';
import type { ProblemType } from '../../core/certificates/problem-words.ts';
import type { RenewalWindow } from '../../core/certificates/renewal-information.ts';
import { isCertificateFault } from '../fault.ts';

export type OrderProblem = {
  readonly type: ProblemType;
  /** The CA's message: one printable line. Never compared. */
  readonly detail: string;
  /** No further order before then; null without Retry-After. */
  readonly retryAfter: Date | null;
};

/** As the caller stores it. */
export type OrderState = {
  /** ASCII, lower case, no trailing dot. */
  readonly hostname: string;
  /** The URL given to `orderPlaced`; null before that. */
  readonly orderUrl: string | null;
  /** The certificate's key, the same at each call. */
  readonly privateKey: KeyObject;
  /** PEM chain of the certificate to replace. */
  readonly predecessor?: string | undefined;
};

/** Awaited before the next request; can be repeated with the same data. Errors end `advance`. */
export type OrderSteps = {
  /** Throws a CertificateFault if the order must wait. */
  readonly beforePlacing: (kind: PlacedAs) => Promise<void>;
  /** The URL must be stored when this resolves. */
  readonly orderPlaced: (orderUrl: string) => Promise<void>;
  /** The edge must serve the challenge when this resolves (RFC 8555, 8.3; RFC 8737, 3). */
  readonly publishChallenge: (challenge: Challenge) => Promise<void>;
};

/** Validation on port 80 (RFC 8555, 8.3) or in a handshake on port 443 (RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01';

/** What to publish for one token. */
export type Challenge = {
  readonly type: ChallengeType;
  readonly token: string;
  /** The token and the thumbprint of our account key (RFC 8555, 8.1). */
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

/** The CA refused: this order is over; a new one can be placed later. */
export type Refused = { readonly kind: 'refused'; readonly problem: OrderProblem };

export type OrderResult = Issued | Refused;

/** When the CA wants a certificate renewed (RFC 9773). */
export type RenewalInformation = {
  readonly window: RenewalWindow;
  /** A page that explains the window to operators. */
  readonly explanationUrl: string | null;
  /** A minute to a day from now. */
  readonly askAgainAt: Date;
};

export type CertificateAuthority = {
  /** For logs and messages: the host of its directory, or `local`. */
  readonly name: string;
  readonly accountUri: () => Promise<string | null>;
  /** Places or resumes an order until it ends. Throws a CertificateFault if it stays open. */
  readonly advance: (order: OrderState, steps: OrderSteps) => Promise<OrderResult>;
  /** Uses no rate limit of orders. Throws a CertificateFault if the CA does not answer. */
  readonly reach: () => Promise<void>;
  /** Null without a window for this chain. Throws a CertificateFault if the CA is unreachable. */
  readonly renewalInfo: (chain: string) => Promise<RenewalInformation | null>;
};

export type ConfiguredAuthority = {
  /** As in `certificate.authority`; null for the local CA and for an external edge's. */
  readonly directoryUrl: string | null;
  readonly authority: CertificateAuthority;
  /** CAA identities, lower case (RFC 8659, 4.2). */
  readonly issuerDomains: readonly [string, ...string[]];
};

/** In the operator's order of preference. */
export type CertificateAuthorities = readonly [ConfiguredAuthority, ...ConfiguredAuthority[]];

/** Null if the CA is no longer configured. */
export function authorityOf(
  authorities: CertificateAuthorities,
  { authority }: { readonly authority: string | null },
): ConfiguredAuthority | null {
  return authorities.find(({ directoryUrl }) => directoryUrl === authority) ?? null;
}

/** The CA was unreachable or gave no usable answer. */
export type Silence = {
  readonly kind: 'silence';
  /** Null without Retry-After. */
  readonly retryAfter: Date | null;
  /** No response at all, so further requests are pointless for now. */
  readonly isAway: boolean;
};

type Kept = {
  readonly authority: string | null;
  readonly sealedKey: Uint8Array | null;
  readonly chain: string | null;
};

/** Null without a window, or if the CA is not configured. A CertificateFault becomes `Silence`. */
export async function askRenewal(
  authorities: CertificateAuthorities,
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

/** The chain that an order replaces; undefined if another CA issued it. */
export function predecessorOf(
  authorities: CertificateAuthorities,
  order: Pick<Kept, 'authority'>,
  before: Kept | null,
): string | undefined {
  if (before === null || before.chain === null) return undefined;
  const isSame = authorityOf(authorities, before) === authorityOf(authorities, order);
  return isSame ? before.chain : undefined;
}
