/** Opaque cursors: where in the order of ids the next page of a list starts, whatever comes and goes between. */

const VERSION = 1;
const LENGTH = 9; // a version and an int64

/** The cursor of the page after `id`. */
export function cursorAfter(id: bigint): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes.writeUInt8(VERSION);
  bytes.writeBigInt64BE(id, 1);
  return bytes.toString('base64url');
}

/** The id that a cursor stands after, or null for text that cursorAfter never gives. */
export function idOfCursor(cursor: string): bigint | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== LENGTH || bytes.toString('base64url') !== cursor) return null;
  return bytes.readUInt8() === VERSION ? bytes.readBigInt64BE(1) : null;
}
