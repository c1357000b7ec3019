/** Responses as bytes, built on dns-packet; only names are written here, as it cannot write a dot inside a label. */
import { type Answer, encode } from 'dns-packet';
import { HEADER_OCTETS, type LabQuery } from './query.ts';
import { encodeName } from './wire-name.ts';
import type { LabRecord } from './zone.ts';
import type { Reply } from './zone-tree.ts';

/** What a resolver says about its failure (RFC 8914). */
export type LabExtendedError = { readonly code: number; readonly text: string };

/** What of a response comes neither from its query nor from its records. Everything is off unless it is given. */
export type EncodeOptions = {
  /** The AD flag. */
  readonly authenticData?: boolean;
  /** Extended DNS Errors (RFC 8914), written only where the query has EDNS. */
  readonly errors?: readonly LabExtendedError[];
  /** The TC flag. It cuts nothing: the reply has to be short already. */
  readonly truncated?: boolean;
  /** As an old server: no OPT record, whatever the query has. */
  readonly withoutEdns?: boolean;
};

// RFC 1035, 4.1.1; RFC 4035, 3.2.
const [QR, AA, TC, RD, RA, AD, CD] = [0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0020, 0x0010];
const DNSSEC_OK = 0x8000; // RFC 3225, 3
const EXTENDED_ERROR = 15; // RFC 8914, 2
/** What our OPT records say that we can receive over UDP (RFC 6891, 6.1.3). */
const UDP_PAYLOAD_OCTETS = 1232;

/**
 * Returns a response with id 0 that repeats the question byte by byte. RD and RA follow the query's RD, CD its CD.
 * Nothing is cut: whether the message fits its transport is for the caller to check.
 */
export function encodeReply(query: LabQuery, reply: Reply, options: EncodeOptions = {}): Buffer {
  const header = Buffer.alloc(HEADER_OCTETS);
  const recursion = query.recursionDesired ? RD | RA : 0;
  const checks = (options.authenticData === true ? AD : 0) | (query.checkingDisabled ? CD : 0);
  const kind = (reply.authoritative ? AA : 0) | (options.truncated === true ? TC : 0);
  const opt = options.withoutEdns === true ? [] : optOf(query, options.errors ?? []);
  header.writeUInt16BE(QR | reply.rcode | recursion | checks | kind, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(reply.answers.length, 6);
  header.writeUInt16BE(reply.authority.length, 8);
  header.writeUInt16BE(reply.additional.length + opt.length, 10);
  const records = [...reply.answers, ...reply.authority, ...reply.additional].map(encodeRecord);
  return Buffer.concat([header, query.question, ...records, ...opt]);
}

/** EDNS is answered with EDNS (RFC 6891, 7), and DO with DO. */
function optOf({ edns }: LabQuery, errors: readonly LabExtendedError[]): Buffer[] {
  if (edns === null) return [];
  const options = errors.map(({ code, text }) => {
    const data = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(text)]);
    return { code: EXTENDED_ERROR, data };
  });
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: UDP_PAYLOAD_OCTETS,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: edns.dnssecOk ? DNSSEC_OK : 0,
    flag_do: edns.dnssecOk,
    options,
  };
  // The library's types know few options; it writes any that has `data`.
  return [withoutOwner(opt as unknown as Answer, Buffer.from([0]))];
}

function encodeRecord(record: LabRecord): Buffer {
  return withoutOwner(plainRecord(record), encodeName(record.name));
}

/** The library's record, with the owner that is given in place of its own one. */
function withoutOwner(record: Answer, owner: Buffer): Buffer {
  // The message is a header, one octet for the root as owner, and the rest of the record, which is what is kept.
  const message = encode({ type: 'response', answers: [{ ...record, name: '.' }] });
  return Buffer.concat([owner, message.subarray(HEADER_OCTETS + 1)]);
}

const CNAME_CODE = 5;

/** An alias with an escape in it as a record of an unknown type, whose data the library leaves alone (RFC 3597). */
function plainRecord(record: LabRecord): Answer {
  if (record.type !== 'CNAME' || !record.data.includes('\\')) return record;
  const raw = { ...record, type: `UNKNOWN_${CNAME_CODE}`, data: encodeName(record.data) };
  return raw as unknown as Answer; // the library's types leave its unknown types out
}
