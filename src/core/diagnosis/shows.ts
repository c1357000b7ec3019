/** Each name server's answers as text for the domain's page and the doctor. */

import type { Verdict } from '../life/lifecycle.ts';
import type { DnsRecord } from '../names/instructions.ts';
import { shortList } from '../names/printable.ts';
import { unique } from './input.ts';
import { type DnsAnswer, type Observation, recordsOf, type ServerView } from './observation.ts';
import {
  isUnasked,
  type Pointing,
  type PointingView,
  pointingOf,
  type Unasked,
} from './server-pointing.ts';
import { foreign } from './words.ts';

export type ServerShows = {
  readonly server: string;
  /** The queried address. */
  readonly address: string | null;
  readonly verdict: Verdict;
  /** One line. Safe to display; HTML needs escaping. */
  readonly shows: string;
};

/** In the observation's order. */
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

export const verdicts: { readonly [K in Pointing['kind']]: Verdict } = {
  right: 'right',
  missing: 'wrong',
  elsewhere: 'wrong',
  unknown: 'unknown',
  incomparable: 'unknown',
};

export const answerWords: { readonly [K in DnsAnswer<unknown>['kind']]: string } = {
  records: 'records',
  nodata: 'no such record (NODATA)',
  nxdomain: 'no such name (NXDOMAIN)',
  servfail: 'failed (SERVFAIL)',
  refused: 'refused (REFUSED)',
  timeout: 'no answer in time',
};

const unaskedWords: { readonly [S in Unasked]: string } = {
  no_address: 'not queried: its name has no address',
  alias_name: 'not queried: its name is an alias (CNAME)',
  lookup_failed: 'not queried: its name cannot be looked up (SERVFAIL)',
  reserved_address: 'not queried: its address cannot be reached from the internet',
  not_asked: 'not queried this time',
};

const types = ['CNAME', 'A', 'AAAA'] as const;

/** One line, printable. */
export function shownInWords({ state, cname, a, aaaa }: PointingView): string {
  if (isUnasked(state)) return unaskedWords[state];
  const answers = [cname, a, aaaa];
  const present = answers.flatMap((answer, at) => recordLine(types[at] ?? '', answer));
  const missed = missedIn(answers);
  if (present.length > 0) return [...present, ...missed].join('; ');
  return missed.length > 0 ? missed.join('; ') : answerWords[cname.kind];
}

const RECORDS_MAX = 6;

/** `A 192.0.2.1, 192.0.2.2, TTL 5 min`. `inWords` makes values printable. */
export function recordLine(
  type: string,
  answer: DnsAnswer<string>,
  inWords: (value: string) => string = foreign,
): readonly string[] {
  if (answer.kind !== 'records') return [];
  // Sorted, because servers rotate their answers.
  const values = answer.records.map(inWords).toSorted();
  return [`${type} ${shortList(values, RECORDS_MAX)}, TTL ${durationInWords(answer.ttlSeconds)}`];
}

function missedIn(answers: readonly DnsAnswer<string>[]): readonly string[] {
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

/** `300 s` as `5 min`, in the largest unit with a whole number. */
export function durationInWords(seconds: number): string {
  for (const [size, unit] of units) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return `${seconds} s`;
}

const BRIEF_MAX = 3;

/** `A 192.0.2.1`, `CNAME other.net`, `no such name`. Stored, so sorted; not made printable. */
export function showing({ cname, a, aaaa }: Pick<ServerView, 'cname' | 'a' | 'aaaa'>): string {
  const parts = [
    ...unique(recordsOf(cname)).map((alias) => `CNAME ${alias}`),
    ...unique(recordsOf(a)).map((address) => `A ${address}`),
    ...unique(recordsOf(aaaa)).map((address) => `AAAA ${address}`),
  ];
  if (parts.length > 0) return shortList(parts, BRIEF_MAX);
  return [cname, a, aaaa].some(({ kind }) => kind === 'nxdomain') ? 'no such name' : 'no record';
}
