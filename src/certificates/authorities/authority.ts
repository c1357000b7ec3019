/** What a certificate authority does for us, whichever it is: one order, in steps that can be continued. */
import type { KeyObject } from 'node:crypto';
import type { PlacedAs } from '../../core/certificates/budget.ts';
import type { RenewalWindow } from '../../core/certificates/plan.ts';
import type { ProblemType } from '../../core/certificates/problem-words.ts';
import { isCertificateFault } from '../fault.ts';

/** Why an authority refused. */
export type OrderProblem = {
  readonly type: ProblemType;
  /** The authority's words for a person to read: one line, printable, at most 500 characters. Never compared. */
  readonly detail: string;
  /** The authority wants no further order before then; null where it did not say. */
  readonly retryAfter: Date | null;
};

/** An order as the caller keeps it. */
export type OrderState = {
  /** ASCII, lower case, no trailing dot. */
  readonly hostname: string;
  /** What `orderPlaced` was called with, or null before. */
  readonly orderUrl: string | null;
  /** The certificate's own key; the same one each time the order is continued. */
  readonly privateKey: KeyObject;
  /** PEM chain of the certificate that this one is to replace; missing: there is none. */
  readonly predecessor?: string | undefined;
};

/**
 * What the caller keeps of an order. Each is awaited before the authority is asked anything more; each may be called
 * again with the same. What they throw ends `advance`.
 */
export type OrderSteps = {
  /** The order is about to be placed. Throws a CertificateFault where that must wait. */
  readonly beforePlacing: (kind: PlacedAs) => Promise<void>;
  /** The order has this URL from now on; it must be stored when this resolves. */
  readonly orderPlaced: (orderUrl: string) => Promise<void>;
  /** The edge must answer the challenge once this resolves (RFC 8555, 8.3; RFC 8737, 3). */
  readonly publishChallenge: (challenge: Challenge) => Promise<void>;
};

/** How a name is proved: at port 80 (RFC 8555, 8.3) or within a handshake at port 443 (RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01';

/** What is to be published for one token of an authority. */
export type Challenge = {
  readonly type: ChallengeType;
  readonly token: string;
  /** The token and the thumbprint of our account key (RFC 8555, 8.1). */
  readonly keyAuthorization: string;
};

/** The order ended with a certificate. */
export type Issued = {
  readonly kind: 'issued';
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** A name of the issuer for a person to read. */
  readonly issuer: string;
};

/** The authority refused: this order is over, and a new one may be tried later. */
export type Refused = { readonly kind: 'refused'; readonly problem: OrderProblem };

/** How an order ended; whatever leaves it open is thrown. */
export type OrderResult = Issued | Refused;

/** When the authority wants a certificate renewed (RFC 9773). */
export type RenewalInformation = {
  readonly window: RenewalWindow;
  /** A page for an operator on why the window is what it is. */
  readonly explanationUrl: string | null;
  /** The window may change by then: a minute to a day from now. */
  readonly askAgainAt: Date;
};

/** An authority that orders are placed at. */
export type CertificateAuthority = {
  /** For logs and messages: the host of its directory, or `local`. */
  readonly name: string;
  /** Our account there, for CAA's `accounturi` (RFC 8657, 3); null while there is none. Asks nobody outside. */
  readonly accountUri: () => Promise<string | null>;
  /**
   * Places an order, or continues the one at `orderUrl`, and follows it to its end. Throws a CertificateFault where the
   * authority could not be asked or did not finish; the order is then still open and `advance` continues it.
   */
  readonly advance: (order: OrderState, steps: OrderSteps) => Promise<OrderResult>;
  /** Resolves where the authority answers at all; counts for no limit. Throws a CertificateFault where it does not. */
  readonly reach: () => Promise<void>;
  /**
   * Resolves with when it wants this certificate (a PEM chain) renewed; null where it has no opinion, or does not know
   * the certificate. Throws a CertificateFault where it could not be asked.
   */
  readonly renewalInfo: (chain: string) => Promise<RenewalInformation | null>;
};

/** An authority with what the configuration says of it. */
export type ConfiguredAuthority = {
  /** As `certificate.authority` has it; null for the local one, and where an edge of another make has its own. */
  readonly directoryUrl: string | null;
  readonly authority: CertificateAuthority;
  /** Its CAA identities, lower case (RFC 8659, 4.2). */
  readonly issuerDomains: readonly [string, ...string[]];
};

/** At least one, the operator's first choice first. */
export type Authorities = readonly [ConfiguredAuthority, ...ConfiguredAuthority[]];

/** Returns the authority of an order or certificate; null where it is not configured any more. */
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
  /** When it asked us to come back; null where it did not say. */
  readonly retryAfter: Date | null;
  /** There was no answer at all, so that asking about its other certificates is pointless for now. */
  readonly isAway: boolean;
};

/** A certificate's row, as far as it counts here. */
type Kept = {
  readonly authority: string | null;
  readonly sealedKey: Uint8Array | null;
  readonly chain: string | null;
};

/**
 * Resolves with when the authority of a certificate wants it renewed; null where that has no opinion, is not configured
 * any more, or where another edge has the certificate. A CertificateFault becomes a `Silence`; other errors are thrown.
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

/**
 * Returns the chain to name in an order as what it replaces; undefined where there is none, or where it is another
 * authority's, to which it would mean nothing.
 */
export function predecessorOf(
  authorities: Authorities,
  order: Pick<Kept, 'authority'>,
  before: Kept | null,
): string | undefined {
  if (before === null || before.chain === null) return undefined;
  const isSame = authorityOf(authorities, before) === authorityOf(authorities, order);
  return isSame ? before.chain : undefined;
}
