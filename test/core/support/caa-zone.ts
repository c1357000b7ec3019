/** A CAA zone in the notation of the vectors, and the climb in it. */
import { caaLevels } from '../../../src/core/diagnosis/caa/caa.ts';
import type { CaaLevel, CaaRecord, DnsAnswer } from '../../../src/core/diagnosis/observation.ts';

/** A name's records, alias or failure. A missing name has no records. */
export type CaaZone = Readonly<
  Record<
    string,
    readonly CaaRecord[] | { readonly cname: string } | { readonly dname: string } | Failure
  >
>;
type Failure = 'SERVFAIL' | 'TIMEOUT' | 'REFUSED' | 'NXDOMAIN';

/** `flags tag value`; the value is the rest after the second blank. */
export function caaRecord(text: string): CaaRecord {
  const [flags = '', tag = ''] = text.split(' ', 2);
  return { flags: Number(flags), tag, value: text.slice(flags.length + tag.length + 2) };
}

/** The answers of a whole climb, with aliases followed as by a resolver. */
export function levelsIn(zone: CaaZone, hostname: string): CaaLevel[] {
  return caaLevels(hostname).map((name) => ({ name, answer: answerIn(zone, name) }));
}

const failures = {
  SERVFAIL: { kind: 'servfail' },
  TIMEOUT: { kind: 'timeout' },
  REFUSED: { kind: 'refused' },
  NXDOMAIN: { kind: 'nxdomain' },
} as const;

function answerIn(zone: CaaZone, name: string, aliasesLeft = 8): DnsAnswer<CaaRecord> {
  const entry = zone[name] ?? redirectedIn(zone, name) ?? [];
  if (typeof entry === 'string') return failures[entry];
  if ('cname' in entry) {
    return aliasesLeft > 0 ? answerIn(zone, entry.cname, aliasesLeft - 1) : { kind: 'servfail' };
  }
  // A DNAME redirects the names below it, not its owner (RFC 6672, 2.3).
  const [first, ...rest] = 'dname' in entry ? [] : entry;
  return first === undefined
    ? { kind: 'nodata' }
    : { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
}

/** The alias that a DNAME above the name makes of it. */
function redirectedIn(zone: CaaZone, name: string): { readonly cname: string } | undefined {
  for (const [owner, entry] of Object.entries(zone)) {
    if (typeof entry === 'object' && 'dname' in entry && name.endsWith(`.${owner}`)) {
      return { cname: `${name.slice(0, -owner.length)}${entry.dname}` };
    }
  }
  return undefined;
}
