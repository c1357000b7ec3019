/**
 * When to order a certificate, retry, and renew (ACME Renewal Information, RFC 9773). The schedule
 * follows the CA's rate limits, not the backoff of the DNS checks.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../time.ts';

/**
 * Waits in milliseconds after the first, second and third refusal since verification; daily after
 * that.
 */
export const orderWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/** A refused order. `retryAfter`: no new order before then; null if the CA sent none. */
export type OrderRefusal = { readonly at: Date; readonly retryAfter: Date | null };

/** Returns the next attempt after `refusals` (1 or more) refusals, never before `retryAfter`. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = orderWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** Returns the latest Retry-After of all refusals; in the past if there is none. */
export function mayOrderAt(refusals: readonly OrderRefusal[]): Date {
  return new Date(Math.max(0, ...refusals.map(({ retryAfter }) => retryAfter?.getTime() ?? 0)));
}

/**
 * When to resume an order after the CA was unreachable or had not finished: after a tenth of the
 * elapsed time, from 15 s to 5 min, never before `retryAfter`. The order stays open; this is not a
 * refusal. `since`: when the domain was verified, or the renewal's order was opened.
 */
export function takeUpAgainAt(since: Date, now: Date, retryAfter: Date | null): Date {
  const share = 0.1 * (now.getTime() - since.getTime());
  const wait = Math.min(5 * MINUTE, Math.max(15 * SECOND, share));
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** When to renew, as shares of the certificate's lifetime. */
export const renewal = {
  /**
   * "When they have a third of their total lifetime left" (letsencrypt.org/docs/integration-guide).
   */
  shareOfLifetime: 2 / 3,
  /** Up to this much earlier, so that certificates issued together are not renewed together. */
  spreadShare: 0.05,
  /**
   * The latest renewal, whatever the CA suggests: after its usual window (about two thirds), and
   * early enough for four attempts before an operator is notified.
   */
  latestShareOfLifetime: 3 / 4,
  /**
   * After a check found wrong DNS or a blocking CAA record. No order was placed, so rate limits
   * don't matter; the regular checks would not see a fix sooner.
   */
  checkAgainMs: HOUR,
  /**
   * When an operator is notified. The renewal of a 90-day certificate has then been tried for
   * twelve days, and at least a day is left for any certificate of five days or more.
   */
  escalateShareOfLifetime: 4 / 5,
  /**
   * For a lifetime of at most this (a test lab), a fifth is too short to act, so the operator is
   * notified as soon as renewal is due.
   */
  escalateAtOnceMs: HOUR,
} as const;

type Lifetime = { readonly issuedAt: Date; readonly expiresAt: Date };

/** `id`: a UUID. `window`: the CA's suggestion (RFC 9773); null if it gave none. */
export type Renewable = Lifetime & { readonly id: string; readonly window: RenewalWindow | null };

/**
 * Returns the default renewal time, without a suggestion of the CA. `jitter`: 0 to 1, 1 is the
 * earliest.
 */
export function renewAt(lifetime: Lifetime, jitter: number): Date {
  return atShare(lifetime, renewal.shareOfLifetime - renewal.spreadShare * jitter);
}

/**
 * Returns when a certificate is renewed: at a time in the CA's window, now if that has passed (RFC
 * 9773, 4.2), and at the latest with a quarter of its lifetime left. The certificate's id
 * determines the time, so repeated calls agree and certificates spread over the window.
 */
export function plannedRenewalAt(certificate: Renewable, now: Date): Date {
  const { id, window } = certificate;
  const draw = drawOf(id);
  if (window === null) return renewAt(certificate, draw);
  const wanted = renewalTime(window, draw, now);
  const latest = latestRenewalAt(certificate, draw);
  return new Date(Math.min(+wanted, +latest));
}

/**
 * Returns the new renewal time after an answer of the CA; null if renewal was already due. Then the
 * retry schedule stays, since frequent answers would turn daily retries into hourly ones.
 */
export function movedRenewalAt(
  certificate: Renewable,
  window: RenewalWindow,
  now: Date,
): Date | null {
  const isDue = plannedRenewalAt(certificate, now) <= now;
  return isDue ? null : plannedRenewalAt({ ...certificate, window }, now);
}

/**
 * Returns a number in [0, 1) from the first 48 bits of a certificate's id, a random UUID (RFC 9562,
 * 5.4).
 */
export function drawOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 2 ** 48;
}

/** Spread like `renewAt`, since a whole window may be later. */
function latestRenewalAt(lifetime: Lifetime, draw: number): Date {
  const latest = isShort(lifetime) ? renewal.shareOfLifetime : renewal.latestShareOfLifetime;
  return atShare(lifetime, latest - renewal.spreadShare * draw);
}

/**
 * Returns when an operator is notified that a served certificate was not renewed: with a fifth of
 * its lifetime left; for a lifetime of an hour or less, as soon as renewal is due. Always before it
 * expires, never before renewal was due.
 */
export function escalateRenewalAt(lifetime: Lifetime): Date {
  return atShare(
    lifetime,
    isShort(lifetime) ? renewal.shareOfLifetime : renewal.escalateShareOfLifetime,
  );
}

/** The next times for a domain that is served with a certificate. */
export type ServedTimes = {
  readonly certificateEndsAt: Date;
  readonly renewAt: Date;
  /** When the CA is next asked for the renewal window. */
  readonly renewalInfoAt: Date;
};

/**
 * For a certificate served from `now` on. `escalateAt`: when an operator is notified unless it is
 * renewed.
 */
export function servedTimes(
  certificate: Renewable,
  now: Date,
): ServedTimes & { readonly escalateAt: Date } {
  return {
    certificateEndsAt: certificate.expiresAt,
    renewAt: plannedRenewalAt(certificate, now),
    renewalInfoAt: askFirstAt(now, drawOf(certificate.id)),
    escalateAt: escalateRenewalAt(certificate),
  };
}

function isShort({ issuedAt, expiresAt }: Lifetime): boolean {
  return expiresAt.getTime() - issuedAt.getTime() <= renewal.escalateAtOnceMs;
}

function atShare({ issuedAt, expiresAt }: Lifetime, share: number): Date {
  const lifetime = expiresAt.getTime() - issuedAt.getTime();
  return new Date(issuedAt.getTime() + Math.round(lifetime * share));
}

/** When a renewal is retried after wrong DNS. `timeScale` divides the wait. */
export function renewalCheckAt(now: Date, timeScale: number): Date {
  return new Date(now.getTime() + Math.round(renewal.checkAgainMs / timeScale));
}

/**
 * How often the renewal window is requested: bounds from the examples of RFC 9773, 4.3.2; the usual
 * wait from 4.3.3.
 */
const renewalPolls = { leastMs: MINUTE, usualMs: 6 * HOUR, mostMs: 24 * HOUR } as const;
/** The backoff after an unusable answer; RFC 9773, 4.3.3 asks for exponential backoff. */
const silentPolls = { leastMs: HOUR, mostMs: 16 * HOUR, spreadShare: 0.5 } as const;

/** The CA's suggested window; the end is after the start. */
export type RenewalWindow = { readonly start: Date; readonly end: Date };

/**
 * Returns the CA's name for a certificate (RFC 9773, 4.1), from the keyIdentifier and the serial
 * number (both big-endian). The serial number is positive (RFC 5280, 4.1.2.2), with or without
 * DER's leading zero byte.
 */
export function certificateId(keyIdentifier: Uint8Array, serialNumber: Uint8Array): string {
  const first = serialNumber.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Uint8Array.of(0) : serialNumber.slice(first);
  const serial = (digits[0] ?? 0) < 0x80 ? digits : Uint8Array.of(0, ...digits);
  return `${base64url(keyIdentifier)}.${base64url(serial)}`;
}

/**
 * Returns null if a time is invalid or the window is empty, which counts as no answer (RFC 9773,
 * 4.2).
 */
export function renewalWindow(start: Date, end: Date): RenewalWindow | null {
  return end > start ? { start, end } : null;
}

/** Returns a time in the window, or now if that has passed (RFC 9773, 4.2). `draw`: in [0, 1). */
export function renewalTime({ start, end }: RenewalWindow, draw: number, now: Date): Date {
  const at = start.getTime() + Math.floor((end.getTime() - start.getTime()) * draw);
  return new Date(Math.max(at, now.getTime()));
}

/** When to request the window again. `retryAfter`: null if the CA sent none. */
export function askAgainAt(now: Date, retryAfter: Date | null): Date {
  const { leastMs, usualMs, mostMs } = renewalPolls;
  const asked = retryAfter === null ? usualMs : retryAfter.getTime() - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(asked, leastMs), mostMs));
}

/**
 * When to request a new certificate's window first. `draw` spreads certificates that were stored
 * together.
 */
export function askFirstAt(storedAt: Date, draw: number): Date {
  return new Date(storedAt.getTime() + Math.floor(renewalPolls.usualMs * draw));
}

/**
 * When to ask again after an unusable answer: the wait grows with the outage, from an hour to 16 h,
 * plus up to half of that by `draw`, and at least until `retryAfter` (a day at most). `since`: the
 * first failure in a row.
 */
export function askSilentAgainAt(
  { since, retryAfter }: { readonly since: Date; readonly retryAfter: Date | null },
  draw: number,
  now: Date,
): Date {
  const { leastMs, mostMs, spreadShare } = silentPolls;
  const lasted = Math.min(Math.max(now.getTime() - since.getTime(), leastMs), mostMs);
  const asked = retryAfter === null ? 0 : retryAfter.getTime() - now.getTime();
  const wait = Math.max(lasted * (1 + spreadShare * draw), asked);
  return new Date(now.getTime() + Math.min(Math.floor(wait), renewalPolls.mostMs));
}

/**
 * When to ask again after a 404. The CA may have a window by tomorrow: a server also answers 404
 * right after issuance or during maintenance.
 */
export function askWithoutOpinionAgainAt(now: Date, draw: number): Date {
  const { mostMs } = renewalPolls;
  return new Date(now.getTime() + mostMs - Math.floor(renewalPolls.usualMs * draw));
}

/** Without padding (RFC 4648, 5). */
function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
