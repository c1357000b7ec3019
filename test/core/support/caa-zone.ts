/** A CAA zone written down as the vectors have it, and the climb it answers. */
import { caaLevels } from '../../../src/core/caa/caa.ts';
import type { Answer, CaaLevel, CaaRecord } from '../../../src/core/observation.ts';

/** What stands at a name: records, an alias, or a failure. A name that is not listed has no records. */
export type CaaZone = Readonly<
  Record<string, readonly CaaRecord[] | { readonly cname: string } | Failure>
>;
type Failure = 'SERVFAIL' | 'TIMEOUT' | 'REFUSED' | 'NXDOMAIN';

/** The answers of a whole climb, aliases followed as a resolver does. */
export function levelsIn(zone: CaaZone, hostname: string): CaaLevel[] {
  return caaLevels(hostname).map((name) => ({ name, answer: answerIn(zone, name) }));
}

const failures = {
  SERVFAIL: { kind: 'servfail' },
  TIMEOUT: { kind: 'timeout' },
  REFUSED: { kind: 'refused' },
  NXDOMAIN: { kind: 'nxdomain' },
} as const;

function answerIn(zone: CaaZone, name: string, aliasesLeft = 8): Answer<CaaRecord> {
  const entry = zone[name] ?? [];
  if (typeof entry === 'string') return failures[entry];
  if ('cname' in entry) {
    return aliasesLeft > 0 ? answerIn(zone, entry.cname, aliasesLeft - 1) : { kind: 'servfail' };
  }
  const [first, ...rest] = entry;
  return first === undefined
    ? { kind: 'nodata' }
    : { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
}
