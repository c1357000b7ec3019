/** Reading advances `offset`, even past the end when it throws. */
export type MessageReader = { readonly bytes: Uint8Array; offset: number };

/** Throws MalformedMessage. */
export function u8(reader: MessageReader): number {
  const byte = reader.bytes[reader.offset++];
  if (byte === undefined) throw new MalformedMessage('the message ends too soon');
  return byte;
}

/** Throws MalformedMessage. */
export function u16(reader: MessageReader): number {
  return (u8(reader) << 8) | u8(reader);
}

/** Unsigned. Throws MalformedMessage. */
export function u32(reader: MessageReader): number {
  return u16(reader) * 0x1_0000 + u16(reader);
}

/** Up to `to`; bytes outside printable ASCII become \DDD. Throws MalformedMessage. */
export function readText(reader: MessageReader, to: number): string {
  let shown = '';
  while (reader.offset < to) {
    const byte = u8(reader);
    const printable = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
    shown += printable ? String.fromCharCode(byte) : escapeByte(byte);
  }
  return shown;
}

/** Decimal (RFC 1035, 5.1). */
export function escapeByte(byte: number): string {
  return `\\${String(byte).padStart(3, '0')}`;
}

/** The only error that the decoders throw. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}
