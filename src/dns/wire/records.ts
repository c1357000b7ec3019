/** Resource records on the wire (RFC 1035, 4.1.3): the types that Signpost reads, all others skipped. */
import ipaddr from 'ipaddr.js';
import { MalformedMessage } from './malformed.ts';
import { decodeName, escapeByte, type Reader } from './name.ts';

/** The types that can be asked for, by their number. */
export const typeCodes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  CAA: 257,
} as const;
/** A type that can be asked for. */
export type RecordType = keyof typeof typeCodes;

/** What a record says. All names are in the form of name.ts. */
type Data =
  /** Dotted quads, or RFC 5952 for IPv6. */
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'AAAA'; readonly address: string }
  | { readonly type: 'CNAME'; readonly target: string }
  | { readonly type: 'NS'; readonly target: string }
  | {
      readonly type: 'SOA';
      readonly mname: string;
      readonly serial: number;
      readonly minimumSeconds: number;
    }
  | { readonly type: 'MX'; readonly preference: number; readonly exchange: string }
  /** One text for each character-string, foreign bytes escaped as \DDD. */
  | { readonly type: 'TXT'; readonly texts: readonly string[] }
  /** RFC 8659, 4.1; the tag's case is kept, foreign bytes are escaped as \DDD. */
  | {
      readonly type: 'CAA';
      readonly flags: number;
      readonly tag: string;
      readonly value: string;
    }
  | { readonly type: 'OPT'; readonly extendedRcode: number }
  | { readonly type: 'OTHER'; readonly typeCode: number };

/** A record; `name` is its owner. */
export type ResourceRecord = Data & { readonly name: string; readonly ttlSeconds: number };

/** The records of one type. */
export type RecordOf<T extends ResourceRecord['type']> = Extract<
  ResourceRecord,
  { readonly type: T }
>;

const OPT = 41;
const CLASS_IN = 1;

/** Reads one record and moves the reader behind it. Throws MalformedMessage. */
export function decodeRecord(reader: Reader): ResourceRecord {
  const name = decodeName(reader);
  const typeCode = u16(reader);
  const classCode = u16(reader);
  const ttl = u32(reader);
  const end = u16(reader) + reader.offset;
  if (end > reader.bytes.length) throw new MalformedMessage('the record ends too soon');
  const data = decodeData(reader, { typeCode, classCode, ttl, end });
  // Data that is shorter or longer than it says would let the next record be read from its middle.
  if (reader.offset !== end) throw new MalformedMessage(`record data of a wrong length`);
  // A TTL with its first bit set counts as 0 (RFC 2181, 8).
  return { ...data, name, ttlSeconds: ttl > 0x7fff_ffff ? 0 : ttl };
}

/** The fixed fields before a record's data; `end` is the offset behind the data. */
type Frame = {
  readonly typeCode: number;
  readonly classCode: number;
  readonly ttl: number;
  readonly end: number;
};

function decodeData(reader: Reader, { typeCode, classCode, ttl, end }: Frame): Data {
  // EDNS keeps the upper bits of the RCODE where others have a TTL (RFC 6891, 6.1.3).
  if (typeCode === OPT) return skip(reader, end, { type: 'OPT', extendedRcode: ttl >>> 24 });
  // Other classes than IN have data of other shapes: skipped.
  if (classCode === CLASS_IN) {
    switch (typeCode) {
      case typeCodes.A:
        return { type: 'A', address: address(reader, 4, end) };
      case typeCodes.AAAA:
        return { type: 'AAAA', address: address(reader, 16, end) };
      case typeCodes.CNAME:
        return { type: 'CNAME', target: decodeName(reader) };
      case typeCodes.NS:
        return { type: 'NS', target: decodeName(reader) };
      case typeCodes.SOA:
        return soa(reader);
      case typeCodes.MX:
        return { type: 'MX', preference: u16(reader), exchange: decodeName(reader) };
      case typeCodes.TXT:
        return { type: 'TXT', texts: texts(reader, end) };
      case typeCodes.CAA:
        return caa(reader, end);
    }
  }
  return skip(reader, end, { type: 'OTHER', typeCode });
}

function skip(reader: Reader, end: number, data: Data): Data {
  reader.offset = end;
  return data;
}

/** The length must fit exactly (RFC 1035, 3.4.1; RFC 3596, 2.2). */
function address(reader: Reader, length: number, end: number): string {
  const bytes = reader.bytes.subarray(reader.offset, end);
  if (bytes.length !== length) throw new MalformedMessage('an address of a wrong length');
  reader.offset = end;
  return length === 4 ? bytes.join('.') : ipaddr.fromByteArray([...bytes]).toString();
}

function soa(reader: Reader): Data {
  const mname = decodeName(reader);
  decodeName(reader); // the mail address, which nobody here needs
  const serial = u32(reader);
  reader.offset += 12; // refresh, retry and expire belong to secondaries
  return { type: 'SOA', mname, serial, minimumSeconds: u32(reader) };
}

/** Character-strings one after the other, each with its length (RFC 1035, 3.3.14). */
function texts(reader: Reader, end: number): readonly string[] {
  const found: string[] = [];
  while (reader.offset < end) {
    const length = u8(reader);
    found.push(text(reader, reader.offset + length, end));
  }
  return found;
}

/** Flags, the tag with its length, and the rest is the value (RFC 8659, 4.1). */
function caa(reader: Reader, end: number): Data {
  const flags = u8(reader);
  const tagLength = u8(reader);
  // "The tag length MUST be at least 1" (RFC 8659, 4.1).
  if (tagLength === 0) throw new MalformedMessage('a CAA record without a tag');
  const tag = text(reader, reader.offset + tagLength, end);
  return { type: 'CAA', flags, tag, value: text(reader, end, end) };
}

/** Bytes up to `to` as text: printable ASCII stays, the rest and the backslash become \DDD. */
function text(reader: Reader, to: number, end: number): string {
  if (to > end) throw new MalformedMessage('a text that leaves its record');
  let shown = '';
  while (reader.offset < to) {
    const byte = u8(reader);
    const printable = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c;
    shown += printable ? String.fromCharCode(byte) : escapeByte(byte);
  }
  return shown;
}

function u8(reader: Reader): number {
  const byte = reader.bytes[reader.offset++];
  if (byte === undefined) throw new MalformedMessage('the message ends too soon');
  return byte;
}

/** Reads 16 bits. Throws MalformedMessage. */
export function u16(reader: Reader): number {
  return (u8(reader) << 8) | u8(reader);
}

function u32(reader: Reader): number {
  return u16(reader) * 0x1_0000 + u16(reader);
}
