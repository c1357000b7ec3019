/** Thrown, never stored. A CA's refusal is a value, not an error. */

const codes = [
  /** Sealed with a key that this process does not have. */
  'vault_key_unknown',
  /** Damaged, or copied from another row. */
  'vault_item_unreadable',
  /** No response: refused, reset, timed out, not trusted. */
  'ca_unreachable',
  /** A 5xx, or a response that is not ACME. */
  'ca_failed',
  /** A response that RFC 8555 does not allow. */
  'ca_answer_unreadable',
  /** The CA cannot be used with this configuration; the message names the variable. */
  'ca_misconfigured',
  /** The order continues at the CA; poll again later. */
  'order_still_open',
] as const;

/** Callers compare the code, never the message. */
export type CertificateFaultCode = (typeof codes)[number];

/** `retryAfter`: null without the header. Messages never contain key material. */
export type CertificateFault = Error & {
  readonly code: CertificateFaultCode;
  readonly retryAfter: Date | null;
};

/** `cause` is for the log only. */
export function certificateFault(
  code: CertificateFaultCode,
  message: string,
  { retryAfter = null, cause }: { retryAfter?: Date | null; cause?: unknown } = {},
): CertificateFault {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code, retryAfter });
}

export function isCertificateFault(error: unknown): error is CertificateFault {
  if (!(error instanceof Error) || !('code' in error) || !('retryAfter' in error)) return false;
  const { code } = error;
  return codes.some((known) => known === code);
}
