/** What each name server answers for a host name, as text for the domain's page and the doctor. */

import type { Verdict } from '../life/lifecycle.ts';
import type { DnsRecord } from '../names/instructions.ts';
import { shortList } from '../names/printable.ts';
import { unique } from './input.ts';
import { type Answer, type Observation, recordsOf, type ServerView } from './observation.ts';
import { type Pointing, pointingOf, type Shown, type Unasked } from './server-pointing.ts';
import { foreign } from './words.ts';

/** One server, and whether what it shows is the record that should be there. */
export type ServerShows = {
  readonly server: string;
  /** The queried address; null without one. */
  readonly address: string | null;
  readonly verdict: Verdict;
  /** A line, safe to show anywhere but in HTML without escaping. */
  readonly shows: string;
};

/** Returns every server of a check, in the order of the observation, with what it shows measured against the record. */
export function serversShow(
  { servers, targetAddresses }: Pick<Observation, 'servers' | 'targetAddresses'>,
  record: DnsRecord,
): readonly ServerShows[] {
  return servers.map((view) => ({
    server: foreign(view.server),
    address: view.address,
    verdict: verdicts[pointingOf(view, record, targetAddresses).kind],
    shows: shownInWords(view),
  }));
}

/** The verdict from one server alone. */
export const verdicts: { readonly [K in Pointing['kind']]: Verdict } = {
  right: 'right',
  missing: 'wrong',
  elsewhere: 'wrong',
  unknown: 'unknown',
  incomparable: 'unknown',
};

/** The result of one query, in short. */
export const answerWords: { readonly [K in Answer<unknown>['kind']]: string } = {
  records: 'records',
  nodata: 'no such record (NODATA)',
  nxdomain: 'no such name (NXDOMAIN)',
  servfail: 'failed (SERVFAIL)',
  refused: 'refused (REFUSED)',
  timeout: 'no answer in time',
};

/** Beside a server that was not asked. */
const unaskedWords: { readonly [S in Unasked]: string } = {
  no_address: 'not queried: its name has no address',
  reserved_address: 'not queried: its address cannot be reached from the internet',
  not_asked: 'not queried this time',
};

const types = ['CNAME', 'A', 'AAAA'] as const;

/** Returns all records that lead somewhere, in one line, or why there are none; printable. */
export function shownInWords({ state, cname, a, aaaa }: Shown): string {
  if (state === 'no_address' || state === 'reserved_address' || state === 'not_asked') {
    return unaskedWords[state];
  }
  const answers = [cname, a, aaaa];
  const present = answers.flatMap((answer, at) => recordLine(types[at] ?? '', answer));
  const missed = missedIn(answers);
  if (present.length > 0) return [...present, ...missed].join('; ');
  return missed.length > 0 ? missed.join('; ') : answerWords[cname.kind];
}

/** More do not help the reader. */
const RECORDS_MAX = 6;

/** `A 192.0.2.1, 192.0.2.2, TTL 5 min`, of printable values by `inWords`; empty for an answer without records. */
export function recordLine(
  type: string,
  answer: Answer<string>,
  inWords: (value: string) => string = foreign,
): readonly string[] {
  if (answer.kind !== 'records') return [];
  // Sorted: a set has no order, and servers rotate it.
  const values = answer.records.map(inWords).toSorted();
  return [`${type} ${shortList(values, RECORDS_MAX)}, TTL ${durationInWords(answer.ttlSeconds)}`];
}

/** Which of the three queries that decide failed, and how. */
function missedIn(answers: readonly Answer<string>[]): readonly string[] {
  const failed = answers.flatMap(({ kind }, at) =>
    kind === 'servfail' || kind === 'refused' || kind === 'timeout'
      ? [{ type: types[at] ?? '', words: answerWords[kind] }]
      : [],
  );
  const [first] = failed;
  if (first === undefined) return [];
  const all =
    failed.length === answers.length && failed.every(({ words }) => words === first.words);
  if (all) return [first.words];
  return failed.map(({ type, words }) => `${type}: ${words}`);
}

const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** Returns `300 s` as `5 min`; what is no whole number of a unit stays in the smaller one. */
export function durationInWords(seconds: number): string {
  for (const [size, unit] of units) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return `${seconds} s`;
}

/** Records named in a short text; the rest is counted. */
const BRIEF_MAX = 3;

/**
 * Returns what a server or resolver shows, in a few words: `A 192.0.2.1`, `CNAME other.net`, `no such name`, `no record`.
 * Stored in findings, so it is sorted, and not made printable.
 */
export function showing({ cname, a, aaaa }: Pick<ServerView, 'cname' | 'a' | 'aaaa'>): string {
  const parts = [
    ...unique(recordsOf(cname)).map((alias) => `CNAME ${alias}`),
    ...unique(recordsOf(a)).map((address) => `A ${address}`),
    ...unique(recordsOf(aaaa)).map((address) => `AAAA ${address}`),
  ];
  if (parts.length > 0) return shortList(parts, BRIEF_MAX);
  return [cname, a, aaaa].some(({ kind }) => kind === 'nxdomain') ? 'no such name' : 'no record';
}
