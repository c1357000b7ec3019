/**
 * Opaque cursors: where in its order the next page of a list starts, whatever is added or removed between. Base64url without
 * padding; nothing in them is secret, and none expires.
 */

import type { AuditPlace } from '../../db/audit.ts';
import type { Place } from '../../db/engine/page.ts';
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
  return cursorAfterPlace({ at: openedAt, id });
}

/** The escalation that a cursor stands after, or null for text that cursorAfterEscalation never gives. Never throws. */
export function placeOfCursor(cursor: string): EscalationPlace | null {
  const place = placeIn(cursor);
  return place && { openedAt: place.at, id: place.id };
}

/** The cursor of the page after what stands at this time and id, a UUID: such as an entry of the audit log. */
export function cursorAfterPlace({ at, id }: AuditPlace): string {
  const bytes = Buffer.alloc(PLACE_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeUIntBE(at.getTime(), 1, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), 1 + TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

/** The time and id that a cursor stands after, or null for text that cursorAfterPlace never gives. Never throws. */
export function placeIn(cursor: string): AuditPlace | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== PLACE_CURSOR_BYTES || bytes.toString('base64url') !== cursor) return null;
  const at = timeIn(bytes);
  if (at === null) return null;
  const hex = bytes.toString('hex', 1 + TIME_BYTES);
  return { at, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') };
}

const ROW_CURSOR_MAX = 128; // no id of ours is half as long

/** The cursor of the page after this row, in the order of a time and an id. */
export function cursorAfterRow({ at, id }: Place): string {
  const bytes = Buffer.alloc(1 + TIME_BYTES + Buffer.byteLength(id));
  bytes.writeUInt8(VERSION);
  bytes.writeUIntBE(at.getTime(), 1, TIME_BYTES);
  bytes.write(id, 1 + TIME_BYTES);
  return bytes.toString('base64url');
}

/** The row that a cursor stands after, or null for text that cursorAfterRow never gives for such an id. Never throws. */
export function rowOfCursor(cursor: string, isId: (text: string) => boolean): Place | null {
  if (cursor.length > ROW_CURSOR_MAX) return null;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length <= 1 + TIME_BYTES || bytes.toString('base64url') !== cursor) return null;
  const at = timeIn(bytes);
  const id = bytes.toString('utf8', 1 + TIME_BYTES);
  return at !== null && isId(id) ? { at, id } : null;
}

/** Null for another version, and for what is later than PostgreSQL and RFC 3339 can say. */
function timeIn(bytes: Buffer): Date | null {
  const at = new Date(bytes.readUIntBE(1, TIME_BYTES));
  return bytes.readUInt8() === VERSION && at.getUTCFullYear() <= 9_999 ? at : null;
}
