/** Opaque base64url positions, stable under inserts and deletes. Not secret; they do not expire. */
import type { EscalationPlace } from '../../db/issuance/escalations.ts';

/** The Link to the next page of a list (RFC 8288); other filters stay. */
export function nextPage(
  path: string,
  cursor: string,
  filters: Readonly<Record<string, string | number | null | undefined>>,
): { readonly link: string } {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, cursor })) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  return { link: `<${path}?${query}>; rel="next"` };
}

/** First byte of every cursor. Other versions are refused. */
const VERSION = 1;
const ID_CURSOR_BYTES = 9;

export function cursorAfter(id: bigint): string {
  const bytes = Buffer.alloc(ID_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(id, 1);
  return bytes.toString('base64url');
}

export function idOfCursor(cursor: string): bigint | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== ID_CURSOR_BYTES || bytes.toString('base64url') !== cursor) return null;
  return bytes.readUInt8() === VERSION ? bytes.readBigInt64BE(1) : null;
}

const TIME_BYTES = 6; // milliseconds since 1970: enough until the year 10889
const ID_BYTES = 16;
const PLACE_CURSOR_BYTES = 1 + TIME_BYTES + ID_BYTES;

export function cursorAfterEscalation({ openedAt, id }: EscalationPlace): string {
  const bytes = Buffer.alloc(PLACE_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeUIntBE(openedAt.getTime(), 1, TIME_BYTES);
  bytes.write(id.replaceAll('-', ''), 1 + TIME_BYTES, 'hex');
  return bytes.toString('base64url');
}

export function placeOfCursor(cursor: string): EscalationPlace | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== PLACE_CURSOR_BYTES || bytes.toString('base64url') !== cursor) return null;
  const openedAt = new Date(bytes.readUIntBE(1, TIME_BYTES));
  // PostgreSQL and RFC 3339 support no later year.
  if (bytes.readUInt8() !== VERSION || openedAt.getUTCFullYear() > 9_999) return null;
  const hex = bytes.toString('hex', 1 + TIME_BYTES);
  return { openedAt, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') };
}
