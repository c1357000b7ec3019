/** When to order, retry and renew (ARI: RFC 9773), by the CA's rate limits. */
import { DAY, HOUR, MINUTE, SECOND, scaledMs } from '../time.ts';

/** After the first, second and third refusal since verification; daily after that. */
export const orderWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/** `retryAfter`: no new order before then. */
export type OrderRefusal = { readonly at: Date; readonly retryAfter: Date | null };

/** `refusals`: 1 or more. Never before `retryAfter`. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = orderWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** In the past without a Retry-After. */
export function mayOrderAt(refusals: readonly OrderRefusal[]): Date {
  return new Date(Math.max(0, ...refusals.map(({ retryAfter }) => retryAfter?.getTime() ?? 0)));
}

/**
 * Resumes an open order: after a tenth of the elapsed time, from 15 s to 5 min, never before
 * `retryAfter`. `since`: when the domain was verified, or the renewal's order was opened.
 */
export function takeUpAgainAt(since: Date, now: Date, retryAfter: Date | null): Date {
  const share = 0.1 * (now.getTime() - since.getTime());
  const wait = Math.min(5 * MINUTE, Math.max(15 * SECOND, share));
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

export const renewal = {
  /** "A third of their total lifetime left" (letsencrypt.org/docs/integration-guide). */
  shareOfLifetime: 2 / 3,
  /** "1/2 of lifetime left, if the lifetime is shorter than 10 days" (Certbot 4.0, for Let's Encrypt). */
  shareOfShortLifetime: 1 / 2,
  shortLifetimeMs: 10 * DAY,
  /** Spreads certificates that were issued together. */
  spreadShare: 0.05,
  /** Whatever the CA suggests: early enough for four attempts before an operator is notified. */
  latestShareOfLifetime: 3 / 4,
  /** After wrong DNS or a blocking CAA record. No order was placed, so rate limits don't matter. */
  checkAgainMs: HOUR,
  /** When an operator is notified: after twelve days of attempts for a 90-day certificate. */
  escalateShareOfLifetime: 4 / 5,
  /** Up to this lifetime (a test lab), the operator is notified as soon as renewal is due. */
  escalateAtOnceMs: HOUR,
} as const;

type Lifetime = { readonly issuedAt: Date; readonly expiresAt: Date };

/** `window`: the CA's suggestion (RFC 9773). */
export type Renewable = Lifetime & { readonly id: string; readonly window: RenewalWindow | null };

/** Without a suggestion of the CA. `jitter`: 0 to 1, 1 is the earliest. */
export function renewAt(lifetime: Lifetime, jitter: number): Date {
  return atShare(lifetime, shareOf(lifetime) - renewal.spreadShare * jitter);
}

function shareOf(lifetime: Lifetime): number {
  return lengthOf(lifetime) < renewal.shortLifetimeMs
    ? renewal.shareOfShortLifetime
    : renewal.shareOfLifetime;
}

/**
 * In the CA's window; now if that has passed (RFC 9773, 4.2); at the latest at
 * `latestShareOfLifetime`. The id determines the time, so repeated calls agree and certificates
 * spread over the window.
 */
export function plannedRenewalAt(certificate: Renewable, now: Date): Date {
  const { id, window } = certificate;
  const draw = drawOf(id);
  if (window === null) return renewAt(certificate, draw);
  const wanted = renewalTime(window, draw, now);
  const latest = latestRenewalAt(certificate, draw);
  return new Date(Math.min(+wanted, +latest));
}

/** Null if renewal was already due: frequent answers would turn daily retries into hourly ones. */
export function movedRenewalAt(
  certificate: Renewable,
  window: RenewalWindow,
  now: Date,
): Date | null {
  const isDue = plannedRenewalAt(certificate, now) <= now;
  return isDue ? null : plannedRenewalAt({ ...certificate, window }, now);
}

/** In [0, 1), from the first 48 bits of a random UUID (RFC 9562, 5.4). */
export function drawOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 2 ** 48;
}

/** Spread like `renewAt`, since a whole window can be later. */
function latestRenewalAt(lifetime: Lifetime, draw: number): Date {
  const isShort = lengthOf(lifetime) < renewal.shortLifetimeMs;
  const latest = isShort ? renewal.shareOfShortLifetime : renewal.latestShareOfLifetime;
  return atShare(lifetime, latest - renewal.spreadShare * draw);
}

/** Always before it expires, never before renewal was due. */
export function escalateRenewalAt(lifetime: Lifetime): Date {
  const atOnce = lengthOf(lifetime) <= renewal.escalateAtOnceMs;
  return atShare(lifetime, atOnce ? shareOf(lifetime) : renewal.escalateShareOfLifetime);
}

export type ServedTimes = {
  readonly certificateEndsAt: Date;
  readonly renewAt: Date;
  /** When the CA is next asked for the renewal window. */
  readonly renewalInfoAt: Date;
};

/** `escalateAt`: when an operator is notified unless it is renewed. */
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

function lengthOf({ issuedAt, expiresAt }: Lifetime): number {
  return expiresAt.getTime() - issuedAt.getTime();
}

function atShare(lifetime: Lifetime, share: number): Date {
  return new Date(lifetime.issuedAt.getTime() + Math.round(lengthOf(lifetime) * share));
}

export function renewalCheckAt(now: Date, timeScale: number): Date {
  return new Date(now.getTime() + scaledMs(renewal.checkAgainMs, timeScale));
}

/** Bounds from the examples of RFC 9773, 4.3.2; the usual wait from 4.3.3. */
const renewalPolls = { leastMs: MINUTE, usualMs: 6 * HOUR, mostMs: 24 * HOUR } as const;
/** The backoff after an unusable answer; RFC 9773, 4.3.3 asks for exponential backoff. */
const silentPolls = { leastMs: HOUR, mostMs: 16 * HOUR, spreadShare: 0.5 } as const;

/** The end is after the start. */
export type RenewalWindow = { readonly start: Date; readonly end: Date };

/** RFC 9773, 4.1. `serialNumber`: with or without DER's leading zero byte. */
export function certificateId(keyIdentifier: Uint8Array, serialNumber: Uint8Array): string {
  const first = serialNumber.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Uint8Array.of(0) : serialNumber.slice(first);
  const serial = (digits[0] ?? 0) < 0x80 ? digits : Uint8Array.of(0, ...digits);
  return `${base64url(keyIdentifier)}.${base64url(serial)}`;
}

/** Null if a time is invalid or the window is empty: no answer (RFC 9773, 4.2). */
export function renewalWindow(start: Date, end: Date): RenewalWindow | null {
  return end > start ? { start, end } : null;
}

/** Now if the window has passed (RFC 9773, 4.2). `draw`: in [0, 1). */
export function renewalTime({ start, end }: RenewalWindow, draw: number, now: Date): Date {
  const at = start.getTime() + Math.floor((end.getTime() - start.getTime()) * draw);
  return new Date(Math.max(at, now.getTime()));
}

export function askAgainAt(now: Date, retryAfter: Date | null): Date {
  const { leastMs, usualMs, mostMs } = renewalPolls;
  const asked = retryAfter === null ? usualMs : retryAfter.getTime() - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(asked, leastMs), mostMs));
}

/** `draw` spreads certificates that were stored together. */
export function askFirstAt(storedAt: Date, draw: number): Date {
  return new Date(storedAt.getTime() + Math.floor(renewalPolls.usualMs * draw));
}

/**
 * After an unusable answer. The wait grows with the outage and respects `retryAfter` up to a day.
 * `since`: the first failure in a row.
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

/** After a 404. A server also answers 404 right after issuance or during maintenance. */
export function askWithoutOpinionAgainAt(now: Date, draw: number): Date {
  const { mostMs } = renewalPolls;
  return new Date(now.getTime() + mostMs - Math.floor(renewalPolls.usualMs * draw));
}

/** RFC 4648, 5, without padding. */
function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
