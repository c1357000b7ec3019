/** Opaque base64url positions, stable under inserts and deletes. Not secret; they do not expire. */
import type { DeliveryPlace } from '../../db/delivery/deliveries.ts';
import type { ListPlace } from '../../db/page.ts';

/** First byte of every cursor. Other versions are refused. */
const VERSION = 1;
/** The first byte if the ID is text instead of a UUID. */
const TEXT_VERSION = 2;
const ID_CURSOR_BYTES = 9;

export function cursorAfter(id: bigint): string {
  const bytes = Buffer.alloc(ID_CURSOR_BYTES);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(id, 1);
  return bytes.toString('base64url');
}

export function idOfCursor(cursor: string): bigint | null {
  const bytes = bytesOf(cursor);
  if (bytes?.length !== ID_CURSOR_BYTES || bytes.readUInt8() !== VERSION) return null;
  return bytes.readBigInt64BE(1);
}

const TIME_BYTES = 6; // milliseconds since 1970: enough until the year 10889
const UUID_BYTES = 16;
const PLACE_CURSOR_BYTES = 1 + TIME_BYTES + UUID_BYTES;

export function cursorAfterPlace({ at, id }: ListPlace): string {
  return Buffer.concat([Buffer.of(VERSION), timeBytes(at), uuidBytes(id)]).toString('base64url');
}

export function placeOfCursor(cursor: string): ListPlace | null {
  const bytes = bytesOf(cursor);
  if (bytes?.length !== PLACE_CURSOR_BYTES || bytes.readUInt8() !== VERSION) return null;
  const at = timeIn(bytes, 1);
  return at && { at, id: uuidIn(bytes, 1 + TIME_BYTES) };
}

const TEXT_MAX = 64;

/** For IDs that are not UUIDs. */
export function cursorAfterText({ at, id }: ListPlace): string {
  return Buffer.concat([Buffer.of(TEXT_VERSION), timeBytes(at), Buffer.from(id)]).toString(
    'base64url',
  );
}

export function textOfCursor(cursor: string): ListPlace | null {
  const bytes = bytesOf(cursor);
  if (bytes === null || bytes.length <= 1 + TIME_BYTES) return null;
  if (bytes.length > 1 + TIME_BYTES + TEXT_MAX || bytes.readUInt8() !== TEXT_VERSION) return null;
  const at = timeIn(bytes, 1);
  const id = bytes.toString('latin1', 1 + TIME_BYTES);
  return at && /^[\x21-\x7e]+$/.test(id) ? { at, id } : null;
}

const EVENT_BYTES = 8;
const DELIVERY_CURSOR_BYTES = 1 + EVENT_BYTES + TIME_BYTES + UUID_BYTES;

export function cursorAfterDelivery({ eventId, at, id }: DeliveryPlace): string {
  const event = Buffer.alloc(EVENT_BYTES);
  event.writeBigInt64BE(eventId);
  const parts = [Buffer.of(VERSION), event, timeBytes(at), uuidBytes(id)];
  return Buffer.concat(parts).toString('base64url');
}

export function deliveryOfCursor(cursor: string): DeliveryPlace | null {
  const bytes = bytesOf(cursor);
  if (bytes?.length !== DELIVERY_CURSOR_BYTES || bytes.readUInt8() !== VERSION) return null;
  const at = timeIn(bytes, 1 + EVENT_BYTES);
  const id = uuidIn(bytes, 1 + EVENT_BYTES + TIME_BYTES);
  return at && { eventId: bytes.readBigInt64BE(1), at, id };
}

/** Null unless it is the text that these bytes encode to. Never empty. */
function bytesOf(cursor: string): Buffer | null {
  const bytes = Buffer.from(cursor, 'base64url');
  return bytes.length > 0 && bytes.toString('base64url') === cursor ? bytes : null;
}

function timeBytes(at: Date): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUIntBE(at.getTime(), 0, TIME_BYTES);
  return bytes;
}

/** PostgreSQL and RFC 3339 support no year after 9999. */
function timeIn(bytes: Buffer, offset: number): Date | null {
  const at = new Date(bytes.readUIntBE(offset, TIME_BYTES));
  return at.getUTCFullYear() > 9_999 ? null : at;
}

function uuidBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function uuidIn(bytes: Buffer, offset: number): string {
  const hex = bytes.toString('hex', offset, offset + UUID_BYTES);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
