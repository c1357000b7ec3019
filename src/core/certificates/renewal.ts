/** When to renew, and when to notify an operator that renewal fails. */
import { DAY, HOUR, scaledMs } from '../time.ts';
import { askFirstAt, type RenewalWindow, renewalTime } from './renewal-information.ts';

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
