/**
 * Converts domain names between the wire (RFC 1035, 3.1 and 4.1.4) and the form used everywhere
 * else: lower case, no trailing dot, and every byte outside [a-z0-9_*-] escaped (RFC 4343, 2.1). A
 * dot inside a label cannot be confused with a separator. The root is ".".
 */

const DOT = 0x2e;
const BACKSLASH = 0x5c;

/** RFC 1035, 2.3.4. */
const LABEL_OCTETS = 63;
const NAME_OCTETS = 255;

/** A name has at most 127 labels, so valid names never need more pointers. */
const POINTERS = 127;

/** The text of each byte. DNS compares ASCII without case (RFC 4343, 3). */
const shown: readonly string[] = Array.from({ length: 256 }, (_, byte) => showByte(byte));

/** The character of each unescaped byte; 0 for escaped ones. */
const plain = Uint8Array.from(shown, (text) => (text.length === 1 ? text.charCodeAt(0) : 0));

/** Four characters per escaped byte. */
const escapes = Uint8Array.from(shown.flatMap((text) => [...Buffer.from(text.padEnd(4))]));

/** One string from bytes is cheaper than joining many; 4 characters per byte. */
const scratch = Buffer.alloc(NAME_OCTETS * 4);

/** Returns the end. `into`: two octets more than the text. Throws RangeError if invalid. */
export function encodeName(name: string, into: Uint8Array, start: number): number {
  if (name === '.') {
    into[start] = 0;
    return start + 1;
  }
  // The octet before each label is its length, written once the label is complete.
  let labelAt = start;
  let at = start + 1;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    if (code === DOT) {
      labelAt = endLabel(name, into, labelAt, at);
      at = labelAt + 1;
    } else {
      into[at++] = octetAt(name, i, code);
      if (code === BACKSLASH) i += escapedLength(name, i);
    }
  }
  labelAt = endLabel(name, into, labelAt, at);
  if (labelAt - start > NAME_OCTETS - 1) throw new RangeError(`a name of over 255 octets: ${name}`);
  into[labelAt] = 0;
  return labelAt + 1;
}

function octetAt(name: string, at: number, code: number): number {
  if (code <= 0x20 || code > 0x7e) throw new RangeError(`a foreign character in: ${name}`);
  return code === BACKSLASH ? escaped(name, at) : code;
}

/** Returns where the next label starts. */
function endLabel(name: string, into: Uint8Array, labelAt: number, end: number): number {
  const length = end - labelAt - 1;
  if (length < 1 || length > LABEL_OCTETS) throw new RangeError(`no label of a name in: ${name}`);
  into[labelAt] = length;
  return end;
}

/** Advances the reader. Throws MalformedMessage. */
export function decodeName(reader: MessageReader): string {
  const { bytes, offset } = reader;
  const walk: Walk = { at: offset, segment: offset, after: -1, pointers: 0 };
  let octets = 1;
  let written = 0;
  for (let length = nextLength(bytes, walk); length > 0; length = nextLength(bytes, walk)) {
    octets += length + 1;
    const end = walk.at + 1 + length;
    if (octets > NAME_OCTETS || end > bytes.length) throw new MalformedMessage('bad name');
    if (written > 0) scratch[written++] = DOT;
    written = showLabel(bytes, walk.at + 1, end, written);
    walk.at = end;
  }
  reader.offset = walk.after < 0 ? walk.at + 1 : walk.after;
  return written === 0 ? '.' : scratch.toString('latin1', 0, written);
}

/** Writes to the scratch buffer at `written`, and returns the new position. */
function showLabel(bytes: Uint8Array, from: number, end: number, written: number): number {
  let next = written;
  for (let at = from; at < end; at++) {
    const byte = byteAt(bytes, at);
    const char = plain[byte] ?? 0;
    if (char !== 0) scratch[next++] = char;
    else next = showEscape(byte, next);
  }
  return next;
}

/** By hand, because Buffer.write is slow for four bytes. */
function showEscape(byte: number, written: number): number {
  const length = byte === DOT ? 2 : 4;
  for (let i = 0; i < length; i++) scratch[written + i] = escapes[4 * byte + i] ?? 0;
  return written + length;
}

/** "." above a single label, undefined above the root. Escaped dots are part of their label. */
export function parentOf(name: string): string | undefined {
  if (name === '.') return undefined;
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    if (name.charCodeAt(dot - 1) !== BACKSLASH) return name.slice(dot + 1);
  }
  return '.';
}

/** True if equal. The root contains every name. */
export function isWithin(name: string, zone: string): boolean {
  if (zone === '.' || name === zone) return true;
  // A backslash before a dot always escapes it: a literal backslash is written \092.
  return name.endsWith(`.${zone}`) && name.charCodeAt(name.length - zone.length - 2) !== BACKSLASH;
}

function showByte(byte: number): string {
  if (byte === DOT) return '\\.';
  const char = String.fromCharCode(byte).toLowerCase();
  return byte < 128 && /[a-z0-9_*-]/.test(char) ? char : escapeByte(byte);
}

function escapedLength(name: string, backslash: number): number {
  return name.charCodeAt(backslash + 1) === DOT ? 1 : 3;
}

function escaped(name: string, backslash: number): number {
  if (name.charCodeAt(backslash + 1) === DOT) return DOT;
  const digits = name.slice(backslash + 1, backslash + 4);
  if (!/^\d{3}$/.test(digits) || Number(digits) > 255) {
    throw new RangeError(`bad escape in the name: ${name}`);
  }
  return Number(digits);
}

/** `segment` starts at the last pointer's target, `after` is the offset after the first pointer. */
type Walk = { at: number; segment: number; after: number; pointers: number };

/** Follows pointers; 0 at the root. */
function nextLength(bytes: Uint8Array, walk: Walk): number {
  let length = byteAt(bytes, walk.at);
  while (length > LABEL_OCTETS) {
    // 01 and 10 are unused (RFC 6891, 5).
    if (length < 0xc0) throw new MalformedMessage('bad label');
    const goal = ((length & 0x3f) << 8) | byteAt(bytes, walk.at + 1);
    if (walk.after < 0) walk.after = walk.at + 2;
    // "A prior occurrence of the same name" (RFC 1035, 4.1.4): strictly backward, so loops are
    // impossible.
    if (goal >= walk.segment || ++walk.pointers > POINTERS)
      throw new MalformedMessage('bad pointer');
    walk.at = goal;
    walk.segment = goal;
    length = byteAt(bytes, goal);
  }
  return length;
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new MalformedMessage('the message ends too soon');
  return byte;
}

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
function escapeByte(byte: number): string {
  return `\\${String(byte).padStart(3, '0')}`;
}

/** The only error that the decoders throw. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}
