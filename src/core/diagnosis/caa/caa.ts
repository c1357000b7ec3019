/** The CAA climb (RFC 8659, section 3): which names to query, and what the answers mean. */
import { isTestLabTld } from '../../names/zone.ts';
import { type CaaLevel, type CaaRecord, recordsOf, wasCutOff } from '../observation.ts';
import type { QueryFailure } from '../server-pointing.ts';
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
 * `account_untold`: the set names an account, and ours is unknown. `misspelt`: a record meant for
 * our CA allows no CA.
 */
export type CaaWarning = 'rfc_denies' | 'account_untold' | 'misspelt';

type Permission = 'allow' | 'deny';

/** `rfc`: by the RFCs alone. `records`: presentation form, sorted because servers rotate them. */
export type CaaVerdict =
  | {
      readonly kind: 'allow';
      /** Null if no name has a set; `records` is then empty. */
      readonly foundAt: string | null;
      readonly records: readonly string[];
      readonly warnings: readonly CaaWarning[];
      readonly rfc: Permission;
    }
  | {
      readonly kind: 'deny';
      readonly foundAt: string;
      /** The name that holds the set, if `foundAt` is an alias. */
      readonly publishedAt?: string;
      readonly records: readonly string[];
      /** In presentation form. It is enough only if `toRemove` is empty. */
      readonly toAdd: string;
      /** Records that forbid all issuance. */
      readonly toRemove: readonly string[];
      readonly reason: CaaDenial;
      /** Our method, if the records for our CA do not allow it. */
      readonly method?: string;
      readonly hint?: CaaHint;
      readonly rfc: Permission;
      readonly differ?: CaaDifference;
    }
  /** `nxdomain` only for a top-level domain, which cannot be missing. */
  | {
      readonly kind: 'unknown';
      readonly name: string;
      readonly publishedAt?: string;
      readonly outcome: CaaFailure;
    };

/** `endless`: an alias loop. `cut_off`: our own limits ended the query. */
export type CaaFailure = QueryFailure | 'nxdomain' | 'endless' | 'cut_off';

/** What each server of a zone says at one level; sorted by server, at least two. */
export type CaaDifference = {
  readonly at: string;
  readonly servers: readonly {
    readonly server: string;
    /** In presentation form, sorted; empty: no set. */
    readonly records: readonly string[];
    /** Whether our CA can issue if it queries this server. */
    readonly allows: boolean;
  }[];
};

/** RFC 8659, section 3: the nearest first, without the root; a wildcard's asterisk is removed. */
export function caaLevels(hostname: string): string[] {
  const labels = hostname.toLowerCase().replace(/^\*\./, '').replace(/\.$/, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.')).filter((name) => name !== '');
}

/**
 * `levels`: as `caaLevels`, up to the first with a set or a failure, which decides. If servers differ,
 * the worst counts, because the CA can query any of them. Pure.
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
  return worstOf(
    name,
    servers.map(({ server, ...said }) => ({
      server,
      records: presented(recordsOf(said.answer)),
      verdict: evaluate({ name, ...said }),
    })),
  );
}

const noSet: CaaVerdict = { kind: 'allow', foundAt: null, records: [], warnings: [], rfc: 'allow' };

const worstFirst: readonly CaaVerdict['kind'][] = ['deny', 'unknown', 'allow'];

function worstOf(
  at: string,
  verdicts: readonly {
    readonly server: string;
    readonly records: readonly string[];
    readonly verdict: CaaVerdict;
  }[],
): CaaVerdict {
  const [worst = noSet] = worstFirst.flatMap((kind) =>
    verdicts.flatMap(({ verdict }) => (verdict.kind === kind ? verdict : [])),
  );
  if (worst.kind !== 'deny') return worst;
  const servers = verdicts.map(({ server, records, verdict }) => ({
    server,
    records,
    allows: verdict.kind === 'allow',
  }));
  return { ...worst, differ: { at, servers } };
}

/** Undefined without a set: the next level counts. */
function evaluateLevel(
  level: CaaLevel,
  ca: CaaAuthority,
  wildcard: boolean,
): CaaVerdict | undefined {
  const outcome = failureAt(level);
  // A failed query can hide a set that forbids us (RFC 8659, section 3).
  if (outcome !== undefined) {
    return { kind: 'unknown', name: level.name, ...endOf(level), outcome };
  }
  const records = recordsOf(level.answer);
  return records.length > 0 ? evaluateSet(level, records, ca, wildcard) : undefined;
}

function endOf({ publishedAt }: CaaLevel): { readonly publishedAt?: string } {
  return publishedAt === undefined ? {} : { publishedAt };
}

function failureAt({ name, answer, endless }: CaaLevel): CaaFailure | undefined {
  if (endless) return 'endless';
  if (wasCutOff(answer)) return 'cut_off';
  switch (answer.kind) {
    case 'records':
    case 'nodata':
      return undefined;
    case 'nxdomain':
      // Let's Encrypt does not issue below a removed top-level domain. Those of test labs never
      // exist.
      return name.includes('.') || isTestLabTld(name) ? undefined : 'nxdomain';
    case 'servfail':
    case 'refused':
    case 'timeout':
      return answer.kind;
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

/** Also reported if the account is wrong, because both need a fix. */
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

/** What can still go wrong although our CA can issue. */
function warningsOf(
  relevant: readonly string[],
  ca: CaaAuthority,
  rfc: Permission,
): readonly CaaWarning[] {
  // No record can name the empty account, so a set that allows it allows every account.
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

export const advice: { readonly [W in CaaWarning]: string } = {
  rfc_denies:
    'By the RFC, these records forbid our certificate authority. It issues today because it is more lenient. Write the record without parameters.',
  account_untold:
    'The record names a certificate authority account. We cannot confirm that it is ours yet. Remove accounturi until we can.',
  misspelt: 'A record looks misspelled and allows no certificate authority. Correct or delete it.',
};

/** `toAdd`: the corrected record. */
export const caaHintWords: { readonly [H in CaaHint]: (toAdd: string) => string } = {
  lower_case: (toAdd) =>
    `A record seems meant for our certificate authority, but its name must be in lower case. Correct it to: ${toAdd}`,
  no_trailing_dot: (toAdd) =>
    `A record seems meant for our certificate authority, but ends with a dot. Correct it to: ${toAdd}`,
  bare_name: (toAdd) =>
    `A record seems meant for our certificate authority, but has more than its name. Correct it to: ${toAdd}`,
};
