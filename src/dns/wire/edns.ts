/** EDNS (RFC 6891): the OPT record as we send it, and the extended errors (RFC 8914) in those that come back. */
import type { ExtendedError } from '../../core/diagnosis/observation.ts';
import { type Reader, text, u16 } from './reader.ts';

/** The number of the OPT type. */
export const OPT = 41;

/** How long our OPT record is; it has no options. */
export const OPT_OCTETS = 11;

/** The size that crosses every path unfragmented (DNS flag day 2020). */
const UDP_PAYLOAD_OCTETS = 1232;

/** Where the DO flag is in our record (RFC 6891, 6.1.4). */
const [DO_OCTET, DO_BIT] = [7, 0x80];

/** The option code of an extended error (RFC 8914). */
const EXTENDED_ERROR = 15;

/** Our choice: what a person reads of one error, and how many of them. */
const [TEXT_OCTETS_MAX, ERRORS_MAX] = [200, 8];

/** Writes an OPT record at `at` that allows answers of 1232 octets; `dnssecOk` asks for signatures, too (RFC 3225). */
export function encodeOpt(bytes: Buffer, at: number, dnssecOk: boolean): void {
  bytes.fill(0, at, at + OPT_OCTETS);
  bytes[at + 2] = OPT;
  bytes.writeUInt16BE(UDP_PAYLOAD_OCTETS, at + 3);
  if (dnssecOk) bytes[at + DO_OCTET] = DO_BIT;
}

/**
 * Returns the extended errors among a record's options, 8 at most, and moves the reader to `end`. Options that cannot be
 * read end the list and do no other harm: an error must never change what is made of the answer (RFC 8914, 3), so
 * neither does a broken one, and the length of the record says where the next one begins.
 */
export function decodeExtendedErrors(reader: Reader, end: number): readonly ExtendedError[] {
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

function decodeError(reader: Reader, end: number): ExtendedError {
  const code = u16(reader);
  return { code, text: text(reader, Math.min(end, reader.offset + TEXT_OCTETS_MAX)) };
}
