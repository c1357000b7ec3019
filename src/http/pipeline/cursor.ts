/**
 * Opaque cursors: where in its order the next page of a list starts, whatever is added or removed between. Base64url without
 * padding; nothing in them is secret, and none expires.
 */
import type { EscalationPlace } from '../../db/issuance/escalations.ts';

/** The first byte of every cursor. One of another version is refused, not misread. */
const VERSION = 1;
const ID_CURSOR_BYTES = 9; // a version and an int64

/** The cursor of the page that begins after `id`: 12 characters. */
export function cursorAfter(id: bigint): string {
  const bytes = Buffer.alloc(ID_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(id, 1);
  return bytes.toString('base64url');
}

/** The id that a cursor stands after, or null for text that cursorAfter never gives. Never throws. */
export function idOfCursor(cursor: string): bigint | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== ID_CURSOR_BYTES || bytes.toString('base64url') !== cursor) return null;
  return bytes.readUInt8() === VERSION ? bytes.readBigInt64BE(1) : null;
}

const TIME_BYTES = 6; // milliseconds since 1970: enough until the year 10889
const ID_BYTES = 16;
const PLACE_CURSOR_BYTES = 1 + TIME_BYTES + ID_BYTES;

/** The cursor of the page after this escalation, in the order of its opening time and id. */
export function cursorAfterEscalation({ openedAt, id }: EscalationPlace): string {
  const bytes = Buffer.alloc(PLACE_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeUIntBE(openedAt.getTime(), 1, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), 1 + TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** The escalation that a cursor stands after, or null for text that cursorAfterEscalation never gives. Never throws. */
export function placeOfCursor(cursor: string): EscalationPlace | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== PLACE_CURSOR_BYTES || bytes.toString('base64url') !== cursor) return null;
  const openedAt = new Date(bytes.readUIntBE(1, TIME_BYTES));
  // No later than PostgreSQL and RFC 3339 can say, so that no text of a caller's gets as far as a fault.
  if (bytes.readUInt8() !== VERSION || openedAt.getUTCFullYear() > 9_999) return null;
  const hex = bytes.toString('hex', 1 + TIME_BYTES);
  return { openedAt, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') };
}
