/** Resource records (RFC 1035, 4.1.3) of the types that Signpost reads, and EDNS (RFC 6891). */
import ipaddr from 'ipaddr.js';
import type { ExtendedError, HttpsRecord } from '../../core/diagnosis/observation.ts';
import {
  decodeName,
  MalformedMessage,
  type MessageReader,
  readText,
  u8,
  u16,
  u32,
} from './name.ts';

export const typeCodes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  HTTPS: 65,
  CAA: 257,
} as const;
export type RecordType = keyof typeof typeCodes;

/** Names are in the form of name.ts. */
type Data =
  /** Dotted quads, or RFC 5952 for IPv6. */
  | { readonly type: 'A'; readonly address: string }
  | { readonly type: 'AAAA'; readonly address: string }
  | { readonly type: 'CNAME'; readonly target: string }
  | { readonly type: 'NS'; readonly target: string }
  /** Redirects every name below its owner (RFC 6672). */
  | { readonly type: 'DNAME'; readonly target: string }
  /** RFC 9460: the parameters that decide how a browser connects. */
  | ({ readonly type: 'HTTPS' } & HttpsRecord)
  | {
      readonly type: 'SOA';
      readonly mname: string;
      readonly serial: number;
      readonly minimumSeconds: number;
    }
  | { readonly type: 'MX'; readonly preference: number; readonly exchange: string }
  /** One text per character-string, foreign bytes escaped as \DDD. */
  | { readonly type: 'TXT'; readonly texts: readonly string[] }
  /** RFC 8659, 4.1. The tag keeps its case; foreign bytes are escaped as \DDD. */
  | {
      readonly type: 'CAA';
      readonly flags: number;
      readonly tag: string;
      readonly value: string;
    }
  /** `errors`: RFC 8914; at most 8, with at most 200 octets of text each. */
  | {
      readonly type: 'OPT';
      readonly extendedRcode: number;
      readonly errors: readonly ExtendedError[];
    }
  | { readonly type: 'OTHER'; readonly typeCode: number };

/** `name`: the owner. `ttlSeconds`: 0 to 2^31 - 1. */
export type ResourceRecord = Data & { readonly name: string; readonly ttlSeconds: number };

export type RecordOf<T extends ResourceRecord['type']> = Extract<
  ResourceRecord,
  { readonly type: T }
>;

const CLASS_IN = 1;
/** Never queried: it comes with the aliases that it causes (RFC 6672, 3.1). */
const DNAME = 39;
/** No type has this number (RFC 6895, 3.1). */
const OTHER = 0;

/** Advances the reader. Records of other types or classes are OTHER. Throws MalformedMessage. */
export function decodeRecord(reader: MessageReader): ResourceRecord {
  const name = decodeName(reader);
  const typeCode = u16(reader);
  const classCode = u16(reader);
  const ttl = u32(reader);
  const end = u16(reader) + reader.offset;
  if (end > reader.bytes.length) throw new MalformedMessage('the record ends too soon');
  const record = decodeData(reader, { name, typeCode, classCode, ttl, end });
  // A wrong data length would let the next record be read from its middle.
  if (reader.offset !== end) throw new MalformedMessage('record data of a wrong length');
  return record;
}

/** `end`: the offset after the data. */
type Frame = {
  readonly name: string;
  readonly typeCode: number;
  readonly classCode: number;
  readonly ttl: number;
  readonly end: number;
};

/** Each case creates one object literal, because spreading per record was slow. */
function decodeData(
  reader: MessageReader,
  { name, typeCode, classCode, ttl, end }: Frame,
): ResourceRecord {
  // A TTL with its first bit set counts as 0 (RFC 2181, 8).
  const ttlSeconds = ttl > 0x7fff_ffff ? 0 : ttl;
  if (typeCode === OPT) {
    // EDNS stores the upper bits of the RCODE in the TTL field (RFC 6891, 6.1.3).
    const errors = decodeExtendedErrors(reader, end);
    return { type: 'OPT', name, ttlSeconds, extendedRcode: ttl >>> 24, errors };
  }
  // Classes other than IN have different data formats and are skipped.
  switch (classCode === CLASS_IN ? typeCode : OTHER) {
    case typeCodes.A:
      return { type: 'A', name, ttlSeconds, address: ipv4(reader, end) };
    case typeCodes.AAAA:
      return { type: 'AAAA', name, ttlSeconds, address: ipv6(reader, end) };
    case typeCodes.CNAME:
      return { type: 'CNAME', name, ttlSeconds, target: decodeName(reader) };
    case DNAME:
      return { type: 'DNAME', name, ttlSeconds, target: decodeName(reader) };
    case typeCodes.HTTPS:
      return { type: 'HTTPS', name, ttlSeconds, ...decodeHttps(reader, end) };
    case typeCodes.NS:
      return { type: 'NS', name, ttlSeconds, target: decodeName(reader) };
    case typeCodes.SOA:
      return soa(reader, name, ttlSeconds);
    case typeCodes.MX: {
      const preference = u16(reader);
      return { type: 'MX', name, ttlSeconds, preference, exchange: decodeName(reader) };
    }
    case typeCodes.TXT:
      return { type: 'TXT', name, ttlSeconds, texts: texts(reader, end) };
    case typeCodes.CAA:
      return caa(reader, end, name, ttlSeconds);
    default:
      // Includes signatures (RRSIG, NSEC …).
      reader.offset = end;
      return { type: 'OTHER', name, ttlSeconds, typeCode };
  }
}

/** RFC 1035, 3.4.1. */
function ipv4(reader: MessageReader, end: number): string {
  if (end - reader.offset !== 4) throw new MalformedMessage('an address of a wrong length');
  return `${u8(reader)}.${u8(reader)}.${u8(reader)}.${u8(reader)}`;
}

/** RFC 3596, 2.2. */
function ipv6(reader: MessageReader, end: number): string {
  if (end - reader.offset !== 16) throw new MalformedMessage('an address of a wrong length');
  const bytes = reader.bytes.subarray(reader.offset, end);
  reader.offset = end;
  return ipaddr.fromByteArray([...bytes]).toString();
}

function soa(reader: MessageReader, name: string, ttlSeconds: number): ResourceRecord {
  const mname = decodeName(reader);
  decodeName(reader); // the mail address, which is not used
  const serial = u32(reader);
  reader.offset += 12; // refresh, retry and expire are for secondaries
  return { type: 'SOA', name, ttlSeconds, mname, serial, minimumSeconds: u32(reader) };
}

/** Each has its length (RFC 1035, 3.3.14). */
function texts(reader: MessageReader, end: number): readonly string[] {
  const found: string[] = [];
  while (reader.offset < end) {
    const length = u8(reader);
    found.push(textWithin(reader, reader.offset + length, end));
  }
  return found;
}

/** Flags, the tag with its length, and the value (RFC 8659, 4.1). */
function caa(reader: MessageReader, end: number, name: string, ttlSeconds: number): ResourceRecord {
  const flags = u8(reader);
  const tagLength = u8(reader);
  // "The tag length MUST be at least 1" (RFC 8659, 4.1).
  if (tagLength === 0) throw new MalformedMessage('a CAA record without a tag');
  const tag = textWithin(reader, reader.offset + tagLength, end);
  return { type: 'CAA', name, ttlSeconds, flags, tag, value: textWithin(reader, end, end) };
}

function textWithin(reader: MessageReader, to: number, end: number): string {
  if (to > end) throw new MalformedMessage('a text that leaves its record');
  return readText(reader, to);
}

const OPT = 41;

/** Ours has no options. */
export const OPT_OCTETS = 11;

/** A size that passes every path unfragmented (DNS flag day 2020). */
const UDP_PAYLOAD_OCTETS = 1232;

/** Position of the DO flag in our record (RFC 6891, 6.1.4). */
const [DO_OCTET, DO_BIT] = [7, 0x80];

/** RFC 8914. */
const EXTENDED_ERROR = 15;

/** Bounds the length of one error text, and the number of errors. */
const [TEXT_OCTETS_MAX, ERRORS_MAX] = [200, 8];

/** Allows answers of 1232 octets; `dnssecOk` also requests signatures (RFC 3225). */
export function encodeOpt(bytes: Buffer, at: number, dnssecOk: boolean): void {
  bytes.fill(0, at, at + OPT_OCTETS);
  bytes[at + 2] = OPT;
  bytes.writeUInt16BE(UDP_PAYLOAD_OCTETS, at + 3);
  if (dnssecOk) bytes[at + DO_OCTET] = DO_BIT;
}

/**
 * Advances the reader to `end`. Unreadable options end the list without failing: an extended error
 * must not change how the answer is processed (RFC 8914, 3).
 */
function decodeExtendedErrors(reader: MessageReader, end: number): readonly ExtendedError[] {
  const errors: ExtendedError[] = [];
  while (reader.offset + 4 <= end && errors.length < ERRORS_MAX) {
    const code = u16(reader);
    const next = u16(reader) + reader.offset;
    if (next > end) break;
    if (code === EXTENDED_ERROR && reader.offset + 2 <= next)
      errors.push(decodeError(reader, next));
    reader.offset = next;
  }
  reader.offset = end;
  return errors;
}

function decodeError(reader: MessageReader, end: number): ExtendedError {
  const code = u16(reader);
  return { code, text: readText(reader, Math.min(end, reader.offset + TEXT_OCTETS_MAX)) };
}

// The data of an HTTPS record (RFC 9460, 2.2): priority, name, and numbered parameters.

/** RFC 9460, 14.3.2; `ECH`: RFC 9848, 3. */
const [PORT, IPV4_HINT, ECH, IPV6_HINT] = [3, 4, 5, 6];
const HINTS_MAX = 16;

/** Advances the reader to `end`. Other parameters are skipped. Throws MalformedMessage. */
export function decodeHttps(reader: MessageReader, end: number): HttpsRecord {
  const priority = u16(reader);
  const target = decodeName(reader);
  let [port, ech]: [number | null, boolean] = [null, false];
  const hints: string[] = [];
  while (reader.offset < end) {
    const key = u16(reader);
    const next = u16(reader) + reader.offset;
    if (next > end) throw new MalformedMessage('a parameter that leaves its record');
    if (key === PORT && next - reader.offset === 2) port = u16(reader);
    if (key === IPV4_HINT) hints.push(...addressesUpTo(reader, next, 4));
    if (key === IPV6_HINT) hints.push(...addressesUpTo(reader, next, 16));
    ech ||= key === ECH;
    reader.offset = next;
  }
  return { priority, target, port, hints, ech };
}

function addressesUpTo(
  { bytes, offset }: MessageReader,
  next: number,
  octets: 4 | 16,
): readonly string[] {
  const count = Math.min(HINTS_MAX, Math.floor((next - offset) / octets));
  return Array.from({ length: count }, (_, index) => {
    const from = offset + index * octets;
    return ipaddr.fromByteArray([...bytes.subarray(from, from + octets)]).toString();
  });
}
