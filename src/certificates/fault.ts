/** What can go wrong on our side of a certificate; thrown, never stored (a refusal of the authority is a value). */

const codes = [
  /** Sealed with a key that this process does not have. */
  'vault_key_unknown',
  /** Damaged, or taken from another row. */
  'vault_item_unreadable',
  /** No answer: refused, reset, timed out, not trusted. */
  'ca_unreachable',
  /** An answer of 5xx, or one that no ACME server gives. */
  'ca_failed',
  /** An answer that RFC 8555 does not allow. */
  'ca_answer_unreadable',
  /** It cannot be used as we are configured; the message names the variable. */
  'ca_misconfigured',
  /** The order goes on at the authority; ask again later. */
  'order_still_open',
] as const;

/** One of the codes above; callers compare it, and never the message. */
export type CertificateFaultCode = (typeof codes)[number];

/** `retryAfter`: when the authority asked us to come back; null where it did not say. Messages never hold key material. */
export type CertificateFault = Error & {
  readonly code: CertificateFaultCode;
  readonly retryAfter: Date | null;
};

/** Returns the error to throw; `cause` is for the log only. */
export function certificateFault(
  code: CertificateFaultCode,
  message: string,
  { retryAfter = null, cause }: { retryAfter?: Date | null; cause?: unknown } = {},
): CertificateFault {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code, retryAfter });
}

/** Whether something caught was made by `certificateFault`. */
export function isCertificateFault(error: unknown): error is CertificateFault {
  if (!(error instanceof Error) || !('code' in error) || !('retryAfter' in error)) return false;
  const { code } = error;
  return codes.some((known) => known === code);
}
