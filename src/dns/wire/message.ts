/** DNS messages (RFC 1035, 4). Our own decoder, because names must never be confused. */
import type { ExtendedError } from '../../core/diagnosis/observation.ts';
import { decodeName, encodeName, MalformedMessage, type MessageReader, u16 } from './name.ts';
import {
  decodeRecord,
  encodeOpt,
  OPT_OCTETS,
  type RecordType,
  type ResourceRecord,
  typeCodes,
} from './records.ts';

/** `name` is in the form of name.ts; `recursionDesired` is true for a resolver. */
export type Question = {
  readonly name: string;
  readonly type: RecordType;
  readonly recursionDesired: boolean;
  /** DO: requests signatures and validation results (RFC 3225; RFC 6840, 5.8). */
  readonly dnssecOk?: boolean;
  /** CD: a validating server must return bogus data too (RFC 4035, 3.2.2). */
  readonly checkingDisabled?: boolean;
  /** In lower case and without EDNS, as simple tools ask. Over UDP only. */
  readonly plain?: true;
};

/** Records are in message order. OPT stays among the `additional` records. */
export type Message = {
  readonly id: number;
  readonly response: boolean;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly recursionDesired: boolean;
  readonly recursionAvailable: boolean;
  /** AD: the server validated the signatures (RFC 4035, 3.2.3). */
  readonly authenticData: boolean;
  readonly checkingDisabled: boolean;
  /** Includes the upper bits from EDNS: 0 to 4095. */
  readonly rcode: number;
  /** From the OPT record (RFC 8914). */
  readonly extendedErrors: readonly ExtendedError[];
  /** Undefined if the message repeats no question. */
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

/** RFC 1035, 4.1.1. */
export const HEADER_OCTETS = 12;
const CLASS_IN = 1;

/** Bounds the work; checks use sets of at most 100 (servers/select.ts). */
const RECORDS_MAX = 500;

// RFC 1035, 4.1.1 and RFC 4035, 3.1.6 and 3.2.
const [FLAG_QR, FLAG_AA, FLAG_TC, FLAG_RD] = [0x8000, 0x0400, 0x0200, 0x0100];
const [FLAG_RA, FLAG_AD, FLAG_CD] = [0x0080, 0x0020, 0x0010];

/** Keeps the name's case. DO requires `edns`. Throws RangeError for an invalid name. */
export function encodeQuestion(question: Question, id: number, edns: boolean): Buffer {
  const { name, type, recursionDesired, dnssecOk = false, checkingDisabled = false } = question;
  // On the wire, a name takes two octets more than its text, or fewer if characters are escaped.
  const room = HEADER_OCTETS + name.length + 2 + 4 + (edns ? OPT_OCTETS : 0);
  const bytes = Buffer.allocUnsafe(room);
  bytes.fill(0, 0, HEADER_OCTETS);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt16BE((recursionDesired ? FLAG_RD : 0) | (checkingDisabled ? FLAG_CD : 0), 2);
  bytes[5] = 1;
  let end = encodeName(name, bytes, HEADER_OCTETS);
  end = bytes.writeUInt16BE(typeCodes[type], end);
  end = bytes.writeUInt16BE(CLASS_IN, end);
  if (edns) {
    bytes[11] = 1;
    encodeOpt(bytes, end, dnssecOk);
    end += OPT_OCTETS;
  }
  return end === room ? bytes : bytes.subarray(0, end);
}

/** Throws MalformedMessage for unreadable messages. Ignores bytes after the last record. */
export function decodeMessage(bytes: Uint8Array): Message {
  const reader: MessageReader = { bytes, offset: 0 };
  const id = u16(reader);
  const flags = u16(reader);
  const questions = u16(reader);
  // At most one (RFC 9619).
  if (questions > 1) throw new MalformedMessage('several questions');
  const answerCount = u16(reader);
  const authorityCount = u16(reader);
  const additionalCount = u16(reader);
  if (answerCount + authorityCount + additionalCount > RECORDS_MAX) {
    throw new MalformedMessage(`more than ${RECORDS_MAX} records`);
  }
  const question = questions === 1 ? decodeQuestion(reader) : undefined;
  const answers = decodeRecords(reader, answerCount);
  const authority = decodeRecords(reader, authorityCount);
  const additional = decodeRecords(reader, additionalCount);
  const opt = additional.find((record) => record.type === 'OPT');
  return {
    id,
    response: (flags & FLAG_QR) !== 0,
    authoritative: (flags & FLAG_AA) !== 0,
    truncated: (flags & FLAG_TC) !== 0,
    recursionDesired: (flags & FLAG_RD) !== 0,
    recursionAvailable: (flags & FLAG_RA) !== 0,
    authenticData: (flags & FLAG_AD) !== 0,
    checkingDisabled: (flags & FLAG_CD) !== 0,
    rcode: (flags & 0x000f) | ((opt?.extendedRcode ?? 0) << 4),
    extendedErrors: opt?.errors ?? [],
    question,
    answers,
    authority,
    additional,
  };
}

function decodeQuestion(reader: MessageReader): { name: string; typeCode: number } {
  const name = decodeName(reader);
  const typeCode = u16(reader);
  u16(reader); // the class
  return { name, typeCode };
}

function decodeRecords(reader: MessageReader, count: number): ResourceRecord[] {
  // A wrong count is safe: a short message throws, so the loop is bounded by the bytes.
  const records: ResourceRecord[] = [];
  for (let i = 0; i < count; i++) records.push(decodeRecord(reader));
  return records;
}
