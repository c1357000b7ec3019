/** The climb for CAA records (RFC 8659, 3): which names to ask, and what the answers come to. */
import { isLaboratoryTld } from '../../names/zone.ts';
import { type CaaLevel, type CaaRecord, recordsOf } from '../observation.ts';
import type { Outcome } from '../server-pointing.ts';
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
 * do not know ours yet. `misspelt`: a record that was meant for our CA allows no one.
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
      /** Null without any set; `records` is empty then. */
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
    }
  /** `nxdomain` only of a top-level domain, which cannot be missing. */
  | {
      readonly kind: 'unknown';
      readonly name: string;
      readonly publishedAt?: string;
      readonly outcome: Outcome | 'nxdomain';
    };

/**
 * The names to ask for CAA, nearest first, the top-level domain last, never the root (RFC 8659, 3).
 * A wildcard is checked at the name after its asterisk.
 */
export function caaLevels(hostname: string): string[] {
  const labels = hostname.toLowerCase().replace(/^\*\./, '').replace(/\.$/, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.')).filter((name) => name !== '');
}

/**
 * Evaluates the climb of one name (each name of a request has its own). `levels` as caaLevels orders them, down to the first
 * that has a set or gave no answer. Only the nearest set counts; what lies above it is not read. Pure.
 */
export function evaluateCaa(
  levels: readonly CaaLevel[],
  ca: CaaAuthority,
  { wildcard }: { readonly wildcard: boolean },
): CaaVerdict {
  for (const level of levels) {
    const outcome = missing(level.name, level.answer.kind);
    // An error is not absence: it may hide a set that forbids (RFC 8659, 3).
    if (outcome !== undefined) {
      return { kind: 'unknown', name: level.name, ...endOf(level), outcome };
    }
    const records = recordsOf(level.answer);
    if (records.length > 0) return evaluateSet(level, records, ca, wildcard);
  }
  return { kind: 'allow', foundAt: null, records: [], warnings: [], rfc: 'allow' };
}

function endOf({ publishedAt }: CaaLevel): { readonly publishedAt?: string } {
  return publishedAt === undefined ? {} : { publishedAt };
}

/** Why a level gave nothing to go by; undefined where it answered. */
function missing(name: string, kind: CaaLevel['answer']['kind']): Outcome | 'nxdomain' | undefined {
  switch (kind) {
    case 'records':
    case 'nodata':
      return undefined;
    case 'nxdomain':
      // Let's Encrypt does not issue below a top-level domain that was removed; those of test labs never exist.
      return name.includes('.') || isLaboratoryTld(name) ? undefined : 'nxdomain';
    case 'servfail':
    case 'refused':
    case 'timeout':
      return kind;
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
    'By the RFC, these records forbid our certificate authority. It issues today because it is more lenient. Write the record without parameters.',
  account_untold:
    'The record allows one account, and ours is not known yet: remove accounturi until it is, or the certificate may be refused.',
  misspelt:
    'One record seems meant for our certificate authority, but allows no one: correct or delete it.',
};

/** Total over the codes; `toAdd` is the record as it should be. */
export const caaHintWords: { readonly [H in CaaHint]: (toAdd: string) => string } = {
  lower_case: (toAdd) =>
    `A record seems meant for our certificate authority, but its name must be in lower case. Correct it to: ${toAdd}`,
  no_trailing_dot: (toAdd) =>
    `A record seems meant for our certificate authority, but ends with a dot. Correct it to: ${toAdd}`,
  bare_name: (toAdd) =>
    `A record seems meant for our certificate authority, but has more than its name. Correct it to: ${toAdd}`,
};
