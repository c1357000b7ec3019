/** Choosing records from a message. Only records whose owner is the name that was asked for ever count. */
import type { Answer, Soa } from '../../core/diagnosis/observation.ts';
import { type Message, rcodes } from '../wire/message.ts';
import { isWithin } from '../wire/name.ts';
import type { RecordOf, ResourceRecord } from '../wire/records.ts';

/** More than this many records of one name and type are an attack or a mistake; no honest set comes near. */
const SET_MAX = 100;

/** So are longer ones: what observations keep is bounded, however far names and escapes swell a message. Our choice. */
const [NAMES_CHARS_MAX, TEXTS_CHARS_MAX] = [4_096, 16_384];

/** The root, the largest zone of all, has 13. Our choice. */
const SERVERS_MAX = 32;

/** As many addresses of one name server are remembered. Our choice. */
const ADDRESSES_MAX = 16;

/** How many aliases are followed, as many as at large resolvers. */
export const ALIASES_MAX = 8;

/** Returns the records of one owner and type, in the order of the message. */
export function recordsAt<T extends ResourceRecord['type']>(
  records: readonly ResourceRecord[],
  owner: string,
  type: T,
): RecordOf<T>[] {
  return records.filter(
    (record): record is RecordOf<T> => record.type === type && record.name === owner,
  );
}

/** Returns the addresses of one name server, IPv4 first; 16 of each family at most. */
export function addressesOf(records: readonly ResourceRecord[], owner: string): readonly string[] {
  const ofType = (type: 'A' | 'AAAA') => recordsAt(records, owner, type).slice(0, ADDRESSES_MAX);
  return [...ofType('A'), ...ofType('AAAA')].map(({ address }) => address);
}

/** Whether the NS records among these are more, or longer, than any zone's: then they are not worth remembering. */
export function hasTooManyServers(records: readonly ResourceRecord[]): boolean {
  let [servers, chars] = [0, 0];
  for (const record of records) {
    if (record.type !== 'NS') continue;
    servers++;
    chars += record.target.length;
  }
  return servers > SERVERS_MAX || chars > NAMES_CHARS_MAX;
}

/** Returns the lowest TTL in seconds; 0 for no records. */
export function shortestTtl(records: readonly { readonly ttlSeconds: number }[]): number {
  return records.length === 0 ? 0 : Math.min(...records.map(({ ttlSeconds }) => ttlSeconds));
}

/**
 * Returns what a message says about the records of a name's own. An alias means that there are none of another type (RFC
 * 1034, 3.6.2), and its NXDOMAIN is about the last name of the chain (RFC 6604, 3). A set that is too large is
 * left out by our own limits.
 */
export function answerAt<T extends ResourceRecord['type'], R>(
  message: Message,
  name: string,
  type: T,
  read: (record: RecordOf<T>) => R,
): Answer<R> {
  const records = recordsAt(message.answers, name, type);
  const [first, ...rest] = records;
  if (isTooLarge(records)) return { kind: 'timeout', ours: true };
  if (first !== undefined) {
    return {
      kind: 'records',
      records: [read(first), ...rest.map(read)],
      ttlSeconds: shortestTtl(records),
    };
  }
  const nxdomain = message.rcode === rcodes.NXDOMAIN && !isAlias(message, name);
  return { kind: nxdomain ? 'nxdomain' : 'nodata' };
}

function isTooLarge(records: readonly ResourceRecord[]): boolean {
  if (records.length > SET_MAX) return true;
  let chars = 0;
  let max: number = NAMES_CHARS_MAX;
  for (const record of records) {
    chars += charsOf(record);
    if (record.type === 'TXT' || record.type === 'CAA') max = TEXTS_CHARS_MAX;
  }
  return chars > max;
}

function charsOf(record: ResourceRecord): number {
  switch (record.type) {
    case 'CNAME':
      return record.target.length;
    case 'MX':
      return record.exchange.length;
    case 'TXT':
      return record.texts.reduce((sum, { length }) => sum + length, 0);
    case 'CAA':
      return record.tag.length + record.value.length;
    case 'HTTPS':
      return record.target.length + record.hints.join().length;
    default:
      return 0;
  }
}

/** The record types that are shown as text. */
export type TextType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'TXT';

/**
 * As `answerAt`, with the records as text, each once and sorted, because servers rotate them: so the same set is the
 * same at every check.
 */
export function textsAt(message: Message, name: string, type: TextType): Answer<string> {
  const answer = answerAt(message, name, type, textOf);
  if (answer.kind !== 'records') return answer;
  const [first, ...rest] = [...new Set(answer.records)].sort();
  return first === undefined ? { kind: 'nodata' } : { ...answer, records: [first, ...rest] };
}

function textOf(record: RecordOf<TextType>): string {
  switch (record.type) {
    case 'CNAME':
      return record.target;
    case 'MX':
      return `${record.preference} ${record.exchange}`;
    case 'TXT':
      // Its strings are one text, cut where they had to be (RFC 7208, 3.3).
      return record.texts.join('');
    default:
      return record.address;
  }
}

/**
 * Returns the SOA record that comes with "there is none" (RFC 2308, 3), or that was asked for at the zone's name; null
 * where none is of a zone that `name` is in.
 */
export function soaIn(message: Message, name: string): Soa | null {
  const soa = soaRecordIn(message, name);
  if (soa === undefined) return null;
  // RFC 2308, 5: the lesser of the two.
  return { serial: soa.serial, negativeTtlSeconds: Math.min(soa.ttlSeconds, soa.minimumSeconds) };
}

/** Returns the zone that `name` is in by the SOA record of an answer about it; null where none came along. */
export function zoneBySoa(message: Message, name: string): string | null {
  return soaRecordIn(message, name)?.name ?? null;
}

function soaRecordIn({ answers, authority }: Message, name: string) {
  return [...answers, ...authority].find(
    (record): record is RecordOf<'SOA'> => record.type === 'SOA' && isWithin(name, record.name),
  );
}

/**
 * Returns the names that an alias leads to, in order, by the records of one message; empty where `name` is no alias,
 * undefined where it leads in a circle or through more than ALIASES_MAX names.
 */
export function aliasChain(message: Message, name: string): readonly string[] | undefined {
  const chain: string[] = [];
  for (let at = name; ; ) {
    const target = recordsAt(message.answers, at, 'CNAME')[0]?.target;
    if (target === undefined) return chain;
    const circle = target === name || chain.includes(target);
    if (circle || chain.length >= ALIASES_MAX) return undefined;
    chain.push(target);
    at = target;
  }
}

function isAlias(message: Message, name: string): boolean {
  return recordsAt(message.answers, name, 'CNAME').length > 0;
}
