/** dns-packet cannot tell a dot inside a label from a separator, so names are parsed here. */
import { decode } from 'dns-packet';

/** RFC 6891, 6.1.3 and RFC 3225, 3. */
type Edns = { readonly payloadOctets: number; readonly dnssecOk: boolean };

export type LabQuery = {
  /** Lower case, without trailing dot; `\DDD` and `\.` as in zone files; the root is ``. */
  readonly name: string;
  /** As in dns-packet: `CNAME`, or `UNKNOWN_` and the number for an unknown type. */
  readonly type: string;
  /** As it arrived; a response repeats it in the same letter case. */
  readonly question: Buffer;
  /** The RD, AD and CD flags of the header. */
  readonly recursionDesired: boolean;
  readonly authenticData: boolean;
  readonly checkingDisabled: boolean;
  /** Null: a query without EDNS. */
  readonly edns: Edns | null;
};

/** RFC 1035, 4.1.1; the question section follows. */
export const HEADER_LENGTH = 12;
const LABEL_OCTETS = 63; // RFC 1035, 2.3.4
const QUESTION_TAIL_OCTETS = 4;

/** Undefined unless it is a query with exactly one question. Never throws. */
export function readQuery(bytes: Buffer): LabQuery | undefined {
  const end = questionNameEnd(bytes);
  if (end === undefined) return undefined;
  try {
    const packet = decode(bytes);
    const [question, ...more] = packet.questions ?? [];
    if (packet.type !== 'query' || question === undefined || more.length > 0) return undefined;
    const opt = packet.additionals?.find((record) => record.type === 'OPT');
    return {
      name: readName(bytes, HEADER_LENGTH, end),
      type: question.type,
      question: Buffer.from(bytes.subarray(HEADER_LENGTH, end + QUESTION_TAIL_OCTETS)),
      recursionDesired: packet.flag_rd,
      authenticData: packet.flag_ad,
      checkingDisabled: packet.flag_cd,
      edns:
        opt?.type === 'OPT' ? { payloadOctets: opt.udpPayloadSize, dnssecOk: opt.flag_do } : null,
    };
  } catch {
    return undefined;
  }
}

/** The offset after the name. Undefined if it is compressed or the question is cut off. */
export function questionNameEnd(bytes: Buffer): number | undefined {
  for (let at = HEADER_LENGTH; ; ) {
    const length = bytes[at];
    // A compression pointer has the two highest bits set, so as a length it exceeds 63, too.
    if (length === undefined || length > LABEL_OCTETS) return undefined;
    at += length + 1;
    if (length === 0) return at + QUESTION_TAIL_OCTETS <= bytes.length ? at : undefined;
  }
}

/** Equal for queries with the same response: no id, lower case. `nameEnd`: questionNameEnd. */
export function sameAnswerKey(query: Buffer, nameEnd: number): string {
  const folded = Buffer.from(query.subarray(2));
  // Length octets are below the letters, so only letters are folded.
  for (let at = HEADER_LENGTH - 2; at < nameEnd - 2; at++) {
    const octet = folded.readUInt8(at);
    if (octet >= 0x41 && octet <= 0x5a) folded[at] = octet | 0x20;
  }
  return folded.toString('latin1');
}

function readName(bytes: Buffer, start: number, end: number): string {
  const labels: string[] = [];
  for (let at = start; at < end - 1; ) {
    const length = bytes.readUInt8(at);
    labels.push([...bytes.subarray(at + 1, at + 1 + length)].map(shownOctet).join(''));
    at += length + 1;
  }
  return labels.join('.');
}

/** RFC 1035, 5.1 and RFC 4343, 2.1. */
function shownOctet(octet: number): string {
  const character = String.fromCharCode(octet);
  if (character === '.' || character === '\\') return `\\${character}`;
  return octet > 0x20 && octet < 0x7f
    ? character.toLowerCase()
    : `\\${String(octet).padStart(3, '0')}`;
}
