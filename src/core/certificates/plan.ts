/**
 * When to try for a certificate, first and again, and when its own authority wants it renewed (RFC 9773). It follows the
 * authority's budget, not the DNS ladder.
 */
import { scaleOf } from '../life/ladder.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../time.ts';

/**
 * Waits in milliseconds after the first, second and third refusal since verification; daily from then on. Measured from the
 * first try that is 0, 1, 11 and 100 min.
 */
export const attemptWaitsMs: readonly number[] = [1 * MINUTE, 10 * MINUTE, 89 * MINUTE];

/** An order that the authority refused. `retryAfter`: before then it wants no other; null: it did not say. */
export type Refusal = { readonly at: Date; readonly retryAfter: Date | null };

/** Returns the next try after `refusals` refusals (1 or more), never before the time the authority asked us to wait for. */
export function nextAttemptAt(refusals: number, now: Date, retryAfter: Date | null): Date {
  const wait = attemptWaitsMs[refusals - 1] ?? DAY;
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** The latest time that the authority asked us to wait for, whoever asks for the order; in the past where there is none. */
export function mayOrderAt(refusals: readonly Refusal[]): Date {
  return new Date(Math.max(0, ...refusals.map(({ retryAfter }) => retryAfter?.getTime() ?? 0)));
}

/**
 * When to ask an authority again that could not be reached or has not finished: a tenth of the time waited
 * already, from 15 s to 5 min, and never before it asked us to. The order stays open; this is no refusal. `since`:
 * when the domain was verified, or a renewal's order opened.
 */
export function takeUpAgainAt(since: Date, now: Date, retryAfter: Date | null): Date {
  const share = 0.1 * (now.getTime() - since.getTime());
  const wait = Math.min(5 * MINUTE, Math.max(15 * SECOND, share));
  return new Date(Math.max(now.getTime() + wait, retryAfter?.getTime() ?? 0));
}

/** When the certificate of a live domain is renewed: shares of its own life, whether that is 90 days, 45 or 6. */
export const renewal = {
  /** "When they have a third of their total lifetime left" (letsencrypt.org/docs/integration-guide). */
  shareOfLifetime: 2 / 3,
  /** Up to this much earlier, so that what was issued together is not renewed together. Our choice. */
  spreadShare: 0.05,
  /**
   * Whatever its authority says: later than the usual windows, which are about at two thirds, and soon enough for the first
   * four tries before an operator is notified; that is four and a half days of 90, and seven hours of 6 days. Our choice.
   */
  latestShareOfLifetime: 3 / 4,
  /**
   * After a check that found the DNS not right, or a CAA set against it: no order was placed, so the authority's budget
   * says nothing; the checks of live domains would see a repair no sooner.
   */
  checkAgainMs: HOUR,
  /**
   * By then the renewal of a certificate of 90 days has been tried for twelve days, and that of one of six days for most of
   * a day; and there is a day left to act in for every certificate of five days or more. Our choice.
   */
  escalateShareOfLifetime: 4 / 5,
  /** Of a certificate that lives no longer than this (a laboratory's) a fifth is no time to act in. */
  escalateAtOnceMs: HOUR,
} as const;

type Lifetime = { readonly issuedAt: Date; readonly expiresAt: Date };

/** A certificate, by its UUID, and when its authority wants it renewed (RFC 9773); null: it has not said. */
export type Renewable = Lifetime & { readonly id: string; readonly window: RenewalWindow | null };

/** Returns our own plan, for where the authority has none. `jitter`: 0 to 1, 1 is the earliest. */
export function renewAt(lifetime: Lifetime, jitter: number): Date {
  return atShare(lifetime, renewal.shareOfLifetime - renewal.spreadShare * jitter);
}

/**
 * When a certificate is renewed: at a time in its authority's window, which is now where that time is past (RFC 9773, 4.2),
 * but with a quarter of its life left at the latest. Where in the window is drawn once for each certificate, by its id:
 * whoever asks again does not draw again, and many certificates are spread over all of it.
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
 * Where an answer of the authority takes the renewal; null where it was due before, so that the plan of its tries stands:
 * an answer every few hours would have a daily one made every few hours.
 */
export function movedRenewalAt(
  certificate: Renewable,
  window: RenewalWindow,
  now: Date,
): Date | null {
  const isDue = plannedRenewalAt(certificate, now) <= now;
  return isDue ? null : plannedRenewalAt({ ...certificate, window }, now);
}

/** From 0 up to 1, by a certificate's id (a UUID): its first 48 bits, which are random (RFC 9562, 5.4). */
export function drawOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 2 ** 48;
}

/** Spread as our own plan is: all of a window may be later. */
function latestRenewalAt(lifetime: Lifetime, draw: number): Date {
  const latest = isShort(lifetime) ? renewal.shareOfLifetime : renewal.latestShareOfLifetime;
  return atShare(lifetime, latest - renewal.spreadShare * draw);
}

/**
 * Returns when an operator is notified of a served certificate that has not been renewed: with a fifth of its life left; of
 * a life of an hour or less as soon as its renewal is due. Always before it expires, and never before the renewal was due.
 */
export function escalateRenewalAt(lifetime: Lifetime): Date {
  return atShare(
    lifetime,
    isShort(lifetime) ? renewal.shareOfLifetime : renewal.escalateShareOfLifetime,
  );
}

/** When a domain is worked on that is served with a certificate. */
export type ServedTimes = {
  readonly certificateEndsAt: Date;
  readonly renewAt: Date;
  /** When its authority is asked when it wants the certificate renewed. */
  readonly renewalInfoAt: Date;
};

/** Of a domain that has it from `now` on; `escalateAt`: when an operator is notified unless it is renewed. */
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

/** When a renewal is tried again whose DNS was not right; a laboratory's short window shortens it. */
export function renewalCheckAt(now: Date, windowMs: number): Date {
  return new Date(now.getTime() + Math.round(renewal.checkAgainMs * scaleOf(windowMs)));
}

/** How often a window is asked for again: RFC 9773, 4.3.2 gives the bounds as examples, 4.3.3 the usual wait. */
export const renewalPolls = { leastMs: MINUTE, usualMs: 6 * HOUR, mostMs: 24 * HOUR } as const;
/** After an answer that is none. RFC 9773, 4.3.3 asks for longer and longer waits; the numbers are our choice. */
export const silentPolls = { leastMs: HOUR, mostMs: 16 * HOUR, spreadShare: 0.5 } as const;

/** In which the authority wants the renewal; the end is after the start. */
export type RenewalWindow = { readonly start: Date; readonly end: Date };

/**
 * The name by which an authority knows a certificate (RFC 9773, 4.1): the keyIdentifier of its authority key identifier
 * and its serial number, both big-endian bytes. A serial number is positive (RFC 5280, 4.1.2.2), and comes with or
 * without the zero byte that says so in DER.
 */
export function certificateId(keyIdentifier: Uint8Array, serialNumber: Uint8Array): string {
  const first = serialNumber.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Uint8Array.of(0) : serialNumber.slice(first);
  const serial = (digits[0] ?? 0) < 0x80 ? digits : Uint8Array.of(0, ...digits);
  return `${base64url(keyIdentifier)}.${base64url(serial)}`;
}

/** Returns null where one of the times is none, or the window is empty: that counts as no answer (RFC 9773, 4.2). */
export function renewalWindow(start: Date, end: Date): RenewalWindow | null {
  return end > start ? { start, end } : null;
}

/** A time in the window, or now where that is over (RFC 9773, 4.2). `draw`: from 0 up to 1, by the caller. */
export function renewalTime({ start, end }: RenewalWindow, draw: number, now: Date): Date {
  const at = start.getTime() + Math.floor((end.getTime() - start.getTime()) * draw);
  return new Date(Math.max(at, now.getTime()));
}

/** When to ask for the window again, where the authority said until when it holds; null: it did not say. */
export function askAgainAt(now: Date, retryAfter: Date | null): Date {
  const { leastMs, usualMs, mostMs } = renewalPolls;
  const asked = retryAfter === null ? usualMs : retryAfter.getTime() - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(asked, leastMs), mostMs));
}

/** When a new certificate's authority is asked first: those that were stored together are not asked about together. */
export function askFirstAt(storedAt: Date, draw: number): Date {
  return new Date(storedAt.getTime() + Math.floor(renewalPolls.usualMs * draw));
}

/**
 * When an authority is asked again that could not say: as long as that has lasted, from an hour to 16, and up to half as
 * long again by the draw; never before it asked us to, up to a day. `since`: the first time in a row.
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
 * When an authority is asked again that has no opinion on the certificate: it may have one by tomorrow. A 404 is also what a
 * server gives that has only just issued it, or is being repaired.
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
