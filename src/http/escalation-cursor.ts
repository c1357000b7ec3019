/** Opaque cursors of the list of cases: the case that the page before ended with, by when it was opened and its id. */
import type { EscalationPlace } from '../db/escalations.ts';

const VERSION = 1;
const TIME_BYTES = 6; // milliseconds since 1970: enough until the year 10889
const ID_BYTES = 16;
const LENGTH = 1 + TIME_BYTES + ID_BYTES;

/** The cursor of the page after this case. */
export function cursorAfterCase({ openedAt, id }: EscalationPlace): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes.writeUInt8(VERSION);
  bytes.writeUIntBE(openedAt.getTime(), 1, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), 1 + TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** The case that a cursor stands after, or null for text that cursorAfterCase never gives. */
export function placeOfCursor(cursor: string): EscalationPlace | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== cursor) return null;
  const openedAt = new Date(bytes.readUIntBE(1, TIME_BYTES));
  // No later than PostgreSQL and RFC 3339 can say, so that no text of a caller's gets as far as a fault.
  if (bytes.readUInt8() !== VERSION || openedAt.getUTCFullYear() > 9_999) return null;
  const hex = bytes.toString('hex', 1 + TIME_BYTES);
  return { openedAt, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') };
}
