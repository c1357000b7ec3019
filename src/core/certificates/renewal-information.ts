/** When a certificate's own authority wants it renewed (RFC 9773, ACME Renewal Information): names, windows and times. */
import { HOUR, MINUTE } from '../time.ts';

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
