/** What a certificate authority does for us, whichever it is: one order, in steps that can be taken up again. */
import type { KeyObject } from 'node:crypto';

/** Why an authority said no: RFC 8555, 6.7's types in our spelling, and what we add at the end. */
export const problemTypes = [
  'account_does_not_exist',
  'bad_csr',
  'bad_public_key',
  'bad_signature_algorithm',
  'caa',
  'connection',
  'dns',
  'external_account_required',
  'incorrect_response',
  'invalid_contact',
  'malformed',
  'order_not_ready',
  'rate_limited',
  'rejected_identifier',
  'tls',
  'unauthorized',
  'unsupported_contact',
  'unsupported_identifier',
  'user_action_required',
  /** The order or its authorization ended without a reason, or expired. */
  'order_invalid',
  /** The authority no longer knows the order. */
  'order_lost',
  /** The authority offers no http-01 challenge for this name. */
  'http_challenge_not_offered',
  /** A type that we have no code for. */
  'other',
] as const;
export type ProblemType = (typeof problemTypes)[number];

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
};

/** What the caller keeps. Each is awaited before the authority hears more; each may be called again with the same. */
export type OrderSteps = {
  readonly orderPlaced: (orderUrl: string) => Promise<void>;
  /** The edge must answer the challenge once this resolves (RFC 8555, 8.3). */
  readonly publishChallenge: (challenge: Challenge) => Promise<void>;
};

export type Challenge = { readonly token: string; readonly keyAuthorization: string };

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

export type CertificateAuthority = {
  readonly name: string;
  /** Our account there, for CAA's `accounturi` (RFC 8657, 3); null while there is none. Asks nobody outside. */
  readonly accountUri: () => Promise<string | null>;
  /**
   * Places an order or takes up `orderUrl`, and follows it to its end. Throws a CertificateFault where the
   * authority could not be asked or did not finish; the order is then still open and `advance` goes on with it.
   */
  readonly advance: (order: OrderState, steps: OrderSteps) => Promise<OrderResult>;
};
