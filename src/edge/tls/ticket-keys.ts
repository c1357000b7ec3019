/** Keys of TLS session tickets. */
import { hkdfSync } from 'node:crypto';
import { HOUR } from '../../core/time.ts';

/** RFC 9325, 3.4: at least weekly. Each change costs a visitor one full handshake. */
export const TICKETS_MS = 12 * HOUR;
/** A name, a MAC key and an AES-128 key, 16 bytes each, as node:tls expects. */
const TICKET_KEY_BYTES = 48;

/** Returns the same Buffer while the keys are valid. */
export type TicketKeys = () => Buffer;

/**
 * The same keys in every process, so that a visitor can resume at another edge. node:tls has one
 * set at a time, so older tickets need a full handshake. `secret`: `tickets` of the derived
 * secrets.
 */
export function createTicketKeys(secret: Uint8Array, now: () => Date): TicketKeys {
  let known = { period: Number.NaN, keys: Buffer.alloc(0) };
  return () => {
    const period = Math.floor(now().getTime() / TICKETS_MS);
    if (period !== known.period) {
      const derived = hkdfSync('sha256', secret, '', `keys ${period}`, TICKET_KEY_BYTES);
      known = { period, keys: Buffer.from(derived) };
    }
    return known.keys;
  };
}
