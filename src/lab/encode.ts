/** dns-packet cannot write a dot inside a label, so names are encoded here. */
import { type Answer, encode } from 'dns-packet';
import { HEADER_LENGTH, type LabQuery } from './query.ts';
import type { LabRecord } from './zone.ts';
import type { LabReply } from './zone-tree.ts';

export type LabExtendedError = { readonly code: number; readonly text: string };

/** All off by default. */
export type EncodeOptions = {
  /** The AD flag. */
  readonly authenticData?: boolean;
  /** RFC 8914; only if the query has EDNS. */
  readonly errors?: readonly LabExtendedError[];
  /** The TC flag. Does not shorten the reply. */
  readonly truncated?: boolean;
  /** Like an old server: no OPT record, whatever the query has. */
  readonly withoutEdns?: boolean;
};

// RFC 1035, 4.1.1; RFC 4035, 3.2.
const [QR, AA, TC, RD, RA, AD, CD] = [0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0020, 0x0010];
const DNSSEC_OK = 0x8000; // RFC 3225, 3
const EXTENDED_ERROR = 15; // RFC 8914, 2
/** In our OPT records (RFC 6891, 6.1.3). */
const UDP_PAYLOAD_OCTETS = 1232;

/** Id 0. RD and RA follow the query's RD, CD its CD. Can exceed the transport's limit. */
export function encodeReply(query: LabQuery, reply: LabReply, options: EncodeOptions = {}): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH);
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
  return withoutOwner(plainRecord(record), encodeLabName(record.name));
}

function withoutOwner(record: Answer, owner: Buffer): Buffer {
  // Drops the header and the owner (one octet for the root).
  const message = encode({ type: 'response', answers: [{ ...record, name: '.' }] });
  return Buffer.concat([owner, message.subarray(HEADER_LENGTH + 1)]);
}

const CNAME_CODE = 5;

/** As a record of an unknown type (RFC 3597), whose data the library leaves unchanged. */
function plainRecord(record: LabRecord): Answer {
  if (record.type !== 'CNAME' || !record.data.includes('\\')) return record;
  const raw = { ...record, type: `UNKNOWN_${CNAME_CODE}`, data: encodeLabName(record.data) };
  return raw as unknown as Answer; // the library's types omit its unknown types
}

/** RFC 1035, 5.1: `\DDD` is an octet, `\.` a dot inside a label. Does not check lengths. */
export function encodeLabName(name: string): Buffer {
  const labels = name === '' ? [] : (name.match(/(?:\\\d{3}|\\.|[^.\\])+/gs) ?? []);
  const parts = labels.map((label) => {
    const octets = label
      .match(/\\\d{3}|\\.|[^\\]/gsu)
      ?.map((part) => (/^\\\d/.test(part) ? [Number(part.slice(1))] : bytesOf(part)));
    const content = Buffer.from((octets ?? []).flat());
    return Buffer.concat([Buffer.from([content.length]), content]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function bytesOf(part: string): number[] {
  return [...Buffer.from(part.startsWith('\\') ? part.slice(1) : part)];
}
