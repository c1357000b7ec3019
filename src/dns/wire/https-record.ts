/** The data of an HTTPS record (RFC 9460, 2.2): priority, name, and numbered parameters. */
import ipaddr from 'ipaddr.js';
import type { HttpsRecord } from '../../core/diagnosis/observation.ts';
import { decodeName } from './name.ts';
import { MalformedMessage, type MessageReader, u16 } from './reader.ts';

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
