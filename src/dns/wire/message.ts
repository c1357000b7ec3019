/** DNS messages (RFC 1035, 4): questions are written, responses are read. Our own decoder, because it must never confuse names. */
import { MalformedMessage } from './malformed.ts';
import { decodeName, encodeName, type Reader } from './name.ts';
import { decodeRecord, type RecordType, type ResourceRecord, typeCodes, u16 } from './records.ts';

/** `recursionDesired`: true for a recursive server, false for an authority. */
export type Question = {
  readonly name: string;
  readonly type: RecordType;
  readonly recursionDesired: boolean;
};

/** A decoded message. OPT is left among the `additional` records. */
export type Message = {
  readonly id: number;
  readonly response: boolean;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly recursionDesired: boolean;
  readonly recursionAvailable: boolean;
  /** With the upper bits of EDNS where the message has them. */
  readonly rcode: number;
  readonly question: { readonly name: string; readonly typeCode: number } | undefined;
  readonly answers: readonly ResourceRecord[];
  readonly authority: readonly ResourceRecord[];
  readonly additional: readonly ResourceRecord[];
};

/** RFC 1035, 4.1.1 and RFC 2136, 2.2. */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  NOTAUTH: 9,
} as const;

export const HEADER_OCTETS = 12;
const CLASS_IN = 1;
const FLAG_RD = 0x0100;
const OPT_OCTETS = 11;

/** The size that crosses every path unfragmented (DNS flag day 2020). */
const UDP_PAYLOAD_OCTETS = 1232;

/**
 * A question as it is sent. With `edns`, an OPT record of 11 octets follows that allows answers of 1232 octets (RFC 6891).
 * Throws RangeError for a name that cannot be asked.
 */
export function encodeQuestion(question: Question, id: number, edns: boolean): Buffer {
  // On the wire a name takes two octets more than its text, or fewer where something is escaped.
  const bytes = Buffer.allocUnsafe(HEADER_OCTETS + question.name.length + 2 + 4 + OPT_OCTETS);
  bytes.fill(0, 0, HEADER_OCTETS);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt16BE(question.recursionDesired ? FLAG_RD : 0, 2);
  bytes.writeUInt16BE(1, 4);
  bytes.writeUInt16BE(edns ? 1 : 0, 10);
  let end = encodeName(question.name, bytes, HEADER_OCTETS);
  end = bytes.writeUInt16BE(typeCodes[question.type], end);
  end = bytes.writeUInt16BE(CLASS_IN, end);
  return bytes.subarray(0, edns ? encodeOpt(bytes, end) : end);
}

/** Where the question section of an encoded question ends. */
export function questionEnd(encoded: Buffer): number {
  return encoded.readUInt16BE(10) === 0 ? encoded.length : encoded.length - OPT_OCTETS;
}

/** Reads a message. Throws MalformedMessage, whatever the bytes are. */
export function decodeMessage(bytes: Uint8Array): Message {
  const reader: Reader = { bytes, offset: 0 };
  const id = u16(reader);
  const flags = u16(reader);
  const questions = u16(reader);
  // One at most (RFC 9619).
  if (questions > 1) throw new MalformedMessage('several questions');
  const [answerCount, authorityCount, additionalCount] = [u16(reader), u16(reader), u16(reader)];
  const question = questions === 1 ? decodeQuestion(reader) : undefined;
  const answers = decodeRecords(reader, answerCount);
  const authority = decodeRecords(reader, authorityCount);
  const additional = decodeRecords(reader, additionalCount);
  const opt = additional.find((record) => record.type === 'OPT');
  return {
    id,
    response: (flags & 0x8000) !== 0,
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionDesired: (flags & FLAG_RD) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    rcode: (flags & 0x000f) | ((opt?.extendedRcode ?? 0) << 4),
    question,
    answers,
    authority,
    additional,
  };
}

function encodeOpt(bytes: Buffer, at: number): number {
  bytes.fill(0, at, at + OPT_OCTETS);
  bytes.writeUInt16BE(41, at + 1);
  bytes.writeUInt16BE(UDP_PAYLOAD_OCTETS, at + 3);
  return at + OPT_OCTETS;
}

function decodeQuestion(reader: Reader): { name: string; typeCode: number } {
  const name = decodeName(reader);
  const typeCode = u16(reader);
  u16(reader); // the class
  return { name, typeCode };
}

function decodeRecords(reader: Reader, count: number): ResourceRecord[] {
  // The count is a claim: a message that ends sooner throws, so this never runs longer than the bytes last.
  const records: ResourceRecord[] = [];
  for (let i = 0; i < count; i++) records.push(decodeRecord(reader));
  return records;
}
