/** The climb for CAA records (RFC 8659, 3): which names to ask, and what the answers come to. */
import { isLaboratoryTld } from '../../names/zone.ts';
import { type CaaLevel, type CaaRecord, recordsOf } from '../observation.ts';
import { type Outcome, outcomeOf } from '../server-pointing.ts';
import {
  authorityReading,
  type CaaAuthority,
  type CaaDenial,
  type CaaHint,
  denialOf,
  forbidsAll,
  hintFor,
  isMisspelt,
  leaveOutMethod,
  ownParameters,
  relevantValues,
  rfcReading,
} from './caa-set.ts';
import { presentationOf, recordToAdd } from './caa-value.ts';

/**
 * `rfc_denies`: by the letter of the RFCs the set forbids our authority. `account_untold`: it names an account, and we
 * do not know ours yet. `misspelt`: a record that was meant for our authority allows nobody.
 */
export type CaaWarning = 'rfc_denies' | 'account_untold' | 'misspelt';

type Permission = 'allow' | 'deny';

/**
 * What the authority will do; `rfc` is what the RFCs alone make of the same records. `records` is the whole set in
 * presentation form, sorted: a set has no order, and servers shuffle it.
 */
export type CaaVerdict =
  | {
      readonly kind: 'allow';
      /** Null where there is no set at all; `records` is empty then. */
      readonly foundAt: string | null;
      readonly records: readonly string[];
      readonly warnings: readonly CaaWarning[];
      readonly rfc: Permission;
    }
  | {
      readonly kind: 'deny';
      readonly foundAt: string;
      /** Where the set stands, where `foundAt` is an alias. */
      readonly publishedAt?: string;
      readonly records: readonly string[];
      /** The record that lets us issue beside them, in presentation form, unless any has to go. */
      readonly toAdd: string;
      /** Those that forbid whatever else is there, in presentation form. */
      readonly toRemove: readonly string[];
      readonly reason: CaaDenial;
      /** Ours, where the records for our authority do not let it be used. */
      readonly method?: string;
      readonly hint?: CaaHint;
      readonly rfc: Permission;
      readonly differ?: CaaDifference;
    }
  /** `nxdomain` only of a top-level domain, which cannot be missing. */
  | {
      readonly kind: 'unknown';
      readonly name: string;
      readonly publishedAt?: string;
      readonly endless?: true;
      readonly outcome: CaaFailure;
    };

/** Why a climb came to nothing; `not_asked`: our own limits came before the answer. */
export type CaaFailure = Outcome | 'nxdomain' | 'not_asked';

/** The level at which the servers of a zone say different things, and what each says; sorted by server, two at least. */
export type CaaDifference = {
  readonly at: string;
  readonly servers: readonly {
    readonly server: string;
    /** Its set in presentation form, sorted; empty: it has none. */
    readonly records: readonly string[];
    /** Whether our authority may issue where it meets this server. */
    readonly allows: boolean;
  }[];
};

/**
 * The names to ask for CAA, nearest first, the top-level domain last, never the root (RFC 8659, 3).
 * A wildcard is asked for at the name below its asterisk.
 */
export function caaLevels(hostname: string): string[] {
  const labels = hostname.toLowerCase().replace(/^\*\./, '').replace(/\.$/, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.')).filter((name) => name !== '');
}

/**
 * Evaluates the climb of one name (each name of a request has its own). `levels` as caaLevels orders them, down to the first
 * that has a set or gave no answer. Only the nearest set counts; what lies above it is not read. Where servers differ, the
 * worst counts: the authority may meet any of them. Pure.
 */
export function evaluateCaa(
  levels: readonly CaaLevel[],
  ca: CaaAuthority,
  { wildcard }: { readonly wildcard: boolean },
): CaaVerdict {
  const [level, ...above] = levels;
  if (level === undefined) return noSet;
  const evaluate = (one: CaaLevel) =>
    evaluateLevel(one, ca, wildcard) ?? evaluateCaa(above, ca, { wildcard });
  const { name, servers = [] } = level;
  if (servers.length === 0) return evaluate(level);
  const verdicts = servers.map(({ server, ...said }) => ({
    server,
    records: presented(recordsOf(said.answer)),
    verdict: evaluate({ name, ...said }),
  }));
  const worst =
    worstFirst.flatMap((kind) => verdicts.filter(({ verdict }) => verdict.kind === kind))[0]
      ?.verdict ?? noSet;
  if (worst.kind !== 'deny') return worst;
  const said = verdicts.map(({ server, records, verdict }) => ({
    server,
    records,
    allows: verdict.kind === 'allow',
  }));
  return { ...worst, differ: { at: name, servers: said } };
}

const noSet: CaaVerdict = { kind: 'allow', foundAt: null, records: [], warnings: [], rfc: 'allow' };

const worstFirst: readonly CaaVerdict['kind'][] = ['deny', 'unknown', 'allow'];

/** What one level decides; undefined where it has no set. */
function evaluateLevel(
  level: CaaLevel,
  ca: CaaAuthority,
  wildcard: boolean,
): CaaVerdict | undefined {
  const outcome = missing(level.name, level.answer);
  // An error is not absence: it may hide a set that forbids (RFC 8659, 3).
  if (outcome !== undefined) {
    const endless = level.endless ? ({ endless: true } as const) : {};
    return { kind: 'unknown', name: level.name, ...endOf(level), ...endless, outcome };
  }
  const records = recordsOf(level.answer);
  return records.length > 0 ? evaluateSet(level, records, ca, wildcard) : undefined;
}

function endOf({ publishedAt }: CaaLevel): { readonly publishedAt?: string } {
  return publishedAt === undefined ? {} : { publishedAt };
}

/** Why a level gave nothing to go by; undefined where it answered. */
function missing(name: string, answer: CaaLevel['answer']): CaaFailure | undefined {
  switch (answer.kind) {
    case 'records':
    case 'nodata':
      return undefined;
    case 'nxdomain':
      // Let's Encrypt does not issue below a top-level domain that is gone; laboratories' are never there.
      return name.includes('.') || isLaboratoryTld(name) ? undefined : 'nxdomain';
    case 'servfail':
    case 'refused':
    case 'timeout':
      return outcomeOf(answer);
  }
}

function evaluateSet(
  level: CaaLevel,
  set: readonly CaaRecord[],
  ca: CaaAuthority,
  wildcard: boolean,
): CaaVerdict {
  const foundAt = level.name;
  const relevant = relevantValues(set, wildcard);
  const reason = denialOf(set, relevant, ca, authorityReading);
  const rfc = denialOf(set, relevant, ca, rfcReading) === undefined ? 'allow' : 'deny';
  const records = presented(set);
  if (reason === undefined) {
    return { kind: 'allow', foundAt, records, warnings: warningsOf(relevant, ca, rfc), rfc };
  }
  const toRemove = presented(set.filter((record) => forbidsAll(record, authorityReading)));
  const toAdd = recordToAdd(ca.issuerDomains[0], ownParameters(relevant, ca));
  const why = { reason, ...methodIn(reason, relevant, ca), ...hintIn(relevant, ca) };
  return { kind: 'deny', foundAt, ...endOf(level), records, toAdd, toRemove, ...why, rfc };
}

/** Also where the account is wrong in the first place: both have to be repaired. */
function methodIn(
  reason: CaaDenial,
  relevant: readonly string[],
  ca: CaaAuthority,
): { readonly method?: string } {
  const isSaid =
    reason === 'other_method' || (reason === 'other_account' && leaveOutMethod(relevant, ca));
  return isSaid ? { method: ca.method } : {};
}

function hintIn(relevant: readonly string[], ca: CaaAuthority): { readonly hint?: CaaHint } {
  const hint = relevant.map((value) => hintFor(value, ca)).find((found) => found !== undefined);
  return hint === undefined ? {} : { hint };
}

/** What could still go wrong with a set that lets our authority issue. */
function warningsOf(
  relevant: readonly string[],
  ca: CaaAuthority,
  rfc: Permission,
): readonly CaaWarning[] {
  // No record can name the empty account, so what allows this one allows every account.
  const anyAccount = denialOf([], relevant, { ...ca, accountUri: '' }, authorityReading);
  const warnings: readonly (readonly [CaaWarning, boolean])[] = [
    ['rfc_denies', rfc === 'deny'],
    ['account_untold', ca.accountUri === null && anyAccount !== undefined],
    ['misspelt', relevant.some((value) => isMisspelt(value, ca))],
  ];
  return warnings.flatMap(([warning, holds]) => (holds ? [warning] : []));
}

function presented(records: readonly CaaRecord[]): string[] {
  return records.map(presentationOf).sort();
}

/** What to do about each warning; total over the codes. */
export const advice: { readonly [W in CaaWarning]: string } = {
  rfc_denies:
    'By the RFC alone these records forbid our authority, which reads them more kindly today: write the record without parameters.',
  account_untold:
    'The record allows one account at the authority, and ours is not known yet: take accounturi out until it is, or the certificate may be refused.',
  misspelt:
    'One record seems meant for our authority, but allows nobody as it is written: correct or delete it.',
};

/** Total over the codes; `toAdd` is the record as it should be. */
export const caaHintWords: { readonly [H in CaaHint]: (toAdd: string) => string } = {
  lower_case: (toAdd) =>
    `A record seems meant for our authority, which reads its name in lower case only. Correct it to: ${toAdd}`,
  no_trailing_dot: (toAdd) =>
    `A record seems meant for our authority, but has a dot behind its name. Correct it to: ${toAdd}`,
  bare_name: (toAdd) =>
    `A record seems meant for our authority, but has more than its bare name. Correct it to: ${toAdd}`,
};
