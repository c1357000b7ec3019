/** Only records owned by the queried name count. */
import type { DnsAnswer, Soa } from '../../core/diagnosis/observation.ts';
import { type Message, rcodes } from '../wire/message.ts';
import { isWithin } from '../wire/name.ts';
import type { RecordOf, ResourceRecord } from '../wire/records.ts';

/** Larger record sets are attacks or mistakes. */
const SET_MAX = 100;

/** Bounds the size of stored observations. */
const [NAMES_CHARS_MAX, TEXTS_CHARS_MAX] = [4_096, 16_384];

/** The root zone has 13. */
const SERVERS_MAX = 32;

/** Per name server. */
const ADDRESSES_MAX = 16;

/** A common limit of large resolvers. */
export const ALIASES_MAX = 8;

/** In message order. */
export function recordsAt<T extends ResourceRecord['type']>(
  records: readonly ResourceRecord[],
  owner: string,
  type: T,
): RecordOf<T>[] {
  return records.filter(
    (record): record is RecordOf<T> => record.type === type && record.name === owner,
  );
}

/** IPv4 first; at most 16 per family. */
export function serverAddresses(
  records: readonly ResourceRecord[],
  owner: string,
): readonly string[] {
  const ofType = (type: 'A' | 'AAAA') => recordsAt(records, owner, type).slice(0, ADDRESSES_MAX);
  return [...ofType('A'), ...ofType('AAAA')].map(({ address }) => address);
}

/** Exceeds any legitimate zone; then the records are not cached. */
export function hasTooManyServers(records: readonly ResourceRecord[]): boolean {
  let [servers, chars] = [0, 0];
  for (const record of records) {
    if (record.type !== 'NS') continue;
    servers++;
    chars += record.target.length;
  }
  return servers > SERVERS_MAX || chars > NAMES_CHARS_MAX;
}

/** 0 without records. */
export function shortestTtl(records: readonly { readonly ttlSeconds: number }[]): number {
  return records.length === 0 ? 0 : Math.min(...records.map(({ ttlSeconds }) => ttlSeconds));
}

/**
 * An alias excludes other types (RFC 1034, 3.6.2), and NXDOMAIN is about the last name of the chain
 * (RFC 6604, 3). Our own limits leave out an oversized set.
 */
export function answerAt<T extends ResourceRecord['type'], R>(
  message: Message,
  name: string,
  type: T,
  read: (record: RecordOf<T>) => R,
): DnsAnswer<R> {
  const records = recordsAt(message.answers, name, type);
  const [first, ...rest] = records;
  if (isTooLarge(records)) return { kind: 'timeout', cutOff: true };
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

export type TextType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'TXT';

/** Sorted and unique, because servers rotate records: equal sets compare equal. */
export function textsAt(message: Message, name: string, type: TextType): DnsAnswer<string> {
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
      // The strings form one text, split for length (RFC 7208, 3.3).
      return record.texts.join('');
    default:
      return record.address;
  }
}

/** Of a negative answer (RFC 2308, 3) or a query for it; null unless its zone contains `name`. */
export function soaIn(message: Message, name: string): Soa | null {
  const soa = soaRecordIn(message, name);
  if (soa === undefined) return null;
  // RFC 2308, 5: the lesser of the two.
  return { serial: soa.serial, negativeTtlSeconds: Math.min(soa.ttlSeconds, soa.minimumSeconds) };
}

/** The zone of `name`, if an SOA record came with the answer. */
export function soaOwner(message: Message, name: string): string | null {
  return soaRecordIn(message, name)?.name ?? null;
}

function soaRecordIn({ answers, authority }: Message, name: string) {
  return [...answers, ...authority].find(
    (record): record is RecordOf<'SOA'> => record.type === 'SOA' && isWithin(name, record.name),
  );
}

/** Empty if `name` is not an alias; undefined for loops and chains over ALIASES_MAX. */
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
