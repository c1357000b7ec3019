/** ACME Renewal Information (ARI, RFC 9773): windows, certificate IDs, and when to ask again. */
import { HOUR, MINUTE } from '../time.ts';

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
