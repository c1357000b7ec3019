/** Choosing records from a message. Only records whose owner is the name that was meant ever count. */
import type { Answer } from '../core/observation.ts';
import { type Message, rcodes } from './wire/message.ts';
import type { RecordOf, ResourceRecord } from './wire/records.ts';

/** More than this many records of one name and type are an attack or a mistake; no honest set comes near. */
const SET_MAX = 100;

/** As long as alias chains get at large resolvers. */
export const ALIASES_MAX = 8;

/** The records of one owner and type. */
export function recordsAt<T extends ResourceRecord['type']>(
  records: readonly ResourceRecord[],
  owner: string,
  type: T,
): RecordOf<T>[] {
  return records.filter(
    (record): record is RecordOf<T> => record.type === type && record.name === owner,
  );
}

/** The addresses of one owner, IPv4 first. */
export function addressesOf(records: readonly ResourceRecord[], owner: string): readonly string[] {
  const found = [...recordsAt(records, owner, 'A'), ...recordsAt(records, owner, 'AAAA')];
  return found.map(({ address }) => address);
}

/** 0 for no records. */
export function shortestTtl(records: readonly { readonly ttlSeconds: number }[]): number {
  return records.length === 0 ? 0 : Math.min(...records.map(({ ttlSeconds }) => ttlSeconds));
}

/**
 * What a message says about the records of a name's own. An alias means that there are none of another type
 * (RFC 1034, 3.6.2), and its NXDOMAIN is about the last name of the chain (RFC 6604, 3).
 */
export function answerAt<T extends ResourceRecord['type'], R>(
  message: Message,
  name: string,
  type: T,
  read: (record: RecordOf<T>) => R,
): Answer<R> {
  const records = recordsAt(message.answers, name, type);
  const [first, ...rest] = records;
  if (records.length > SET_MAX) return { kind: 'servfail' };
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

/** As text that is the same at every look: servers rotate their records. */
export function textsAt(
  message: Message,
  name: string,
  type: 'A' | 'AAAA' | 'CNAME',
): Answer<string> {
  const answer = answerAt(message, name, type, (record) =>
    record.type === 'CNAME' ? record.target : record.address,
  );
  if (answer.kind !== 'records') return answer;
  const [first, ...rest] = [...new Set(answer.records)].sort();
  return first === undefined ? { kind: 'nodata' } : { ...answer, records: [first, ...rest] };
}

/** The names an alias leads to, in order; undefined where it leads in a circle or too far. */
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
