/**
 * Whether one set of CAA records lets our certificate authority issue (RFC 8659, 4; RFC 8657), read once as
 * that authority reads it (Let's Encrypt's own checker: boulder, va/caa.go) and once by the letter of the RFCs.
 */

import type { CaaRecord } from '../observation.ts';
import { type CaaParameter, type IssueValue, issuerTextOf, parseIssueValue } from './caa-value.ts';

/** The authority that is to issue, as CAA records name it. */
export type CaaAuthority = {
  /** Its identities, lower case; the first is the one to recommend. */
  readonly issuerDomains: readonly [string, ...string[]];
  /** Our account there; null while we have none, or the authority keeps none. */
  readonly accountUri: string | null;
  readonly method: 'http-01' | 'dns-01' | 'tls-alpn-01';
};

/** Why no record authorizes us. */
export type CaaDenial =
  | 'unknown_critical'
  | 'other_method'
  | 'other_account'
  | 'malformed'
  | 'other_authority'
  | 'nobody';

/** A record that nearly names our authority, and what is wrong with how it is written. */
export type CaaHint = 'lower_case' | 'no_trailing_dot' | 'bare_name';

/** What a reader of CAA records is free to take one way or the other. */
export type Reading = {
  /** A property with any of these flag bits has to be understood. */
  readonly criticalBits: number;
  /** Lower case. */
  readonly knownTags: ReadonlySet<string>;
  /** What a parameter's tag may look like. */
  readonly parameterTag: RegExp;
  /** The issuer's name as it is compared. */
  readonly issuerOf: (value: IssueValue) => string;
};

const tagsEveryoneKnows = ['issue', 'issuewild', 'iodef', 'issuemail', 'issuevmc'];

/** As Let's Encrypt reads. */
export const authorityReading: Reading = {
  // 1 is taken for the critical bit too: publishers often mistake it for that.
  criticalBits: 128 | 1,
  knownTags: new Set(tagsEveryoneKnows),
  parameterTag: /^[A-Za-z0-9]*$/,
  issuerOf: ({ issuer }) => issuer,
};

/** As the RFCs have it. */
export const rfcReading: Reading = {
  // RFC 8659, 4.1: bit 0, the most significant one; all others are ignored.
  criticalBits: 128,
  // Registered by the CA/Browser Forum (Baseline Requirements, A.1).
  knownTags: new Set([...tagsEveryoneKnows, 'contactemail', 'contactphone']),
  parameterTag: /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/,
  // It is a domain name, and those compare without case (RFC 4343).
  issuerOf: ({ issuer }) => issuer.toLowerCase(),
};

/**
 * Returns the values that speak about this kind of request (RFC 8659, 4.3). None: the set restricts nothing, unless it has a
 * critical property that is not understood.
 */
export function relevantValues(
  records: readonly CaaRecord[],
  wildcard: boolean,
): readonly string[] {
  const valuesOf = (wanted: string) =>
    records.filter(({ tag }) => tag.toLowerCase() === wanted).map(({ value }) => value);
  const wild = wildcard ? valuesOf('issuewild') : [];
  return wild.length > 0 ? wild : valuesOf('issue');
}

/** From the record that came nearest to letting us issue to the one that was furthest away. */
const denials: readonly CaaDenial[] = [
  'other_method',
  'other_account',
  'malformed',
  'other_authority',
  'nobody',
];

/**
 * Returns why a set keeps our authority from issuing: what kept back the record that came nearest to allowing it; undefined
 * where the set lets it. `relevant`: of `relevantValues`.
 */
export function denialOf(
  records: readonly CaaRecord[],
  relevant: readonly string[],
  ca: CaaAuthority,
  reading: Reading,
): CaaDenial | undefined {
  if (records.some((record) => forbidsAll(record, reading))) return 'unknown_critical';
  const found = relevant.map((value) => denialOfValue(value, ca, reading));
  // One record that authorizes us is enough.
  if (found.includes(undefined)) return undefined;
  return denials.find((denial) => found.includes(denial));
}

/** A critical property that the reader does not know forbids all issuing (RFC 8659, 4.1). */
export function forbidsAll({ flags, tag }: CaaRecord, reading: Reading): boolean {
  return (flags & reading.criticalBits) !== 0 && !reading.knownTags.has(tag.toLowerCase());
}

function denialOfValue(value: string, ca: CaaAuthority, reading: Reading): CaaDenial | undefined {
  const parsed = parseIssueValue(value, reading.parameterTag);
  if (parsed === undefined) return 'malformed';
  if (parsed.issuer === '') return 'nobody';
  if (!ca.issuerDomains.includes(reading.issuerOf(parsed))) return 'other_authority';
  if (!accountMatches(parsed, ca.accountUri)) return 'other_account';
  return methodMatches(parsed, ca.method) ? undefined : 'other_method';
}

/**
 * RFC 8657, 3: at most one `accounturi`, and it must be ours to the letter.
 * While our account is not known yet, one that could be ours passes: it comes into being with the first
 * order, which a denial here would never let begin; and the authority decides for itself.
 */
function accountMatches({ parameters }: IssueValue, accountUri: string | null): boolean {
  const [wanted, ...more] = parameters.filter(({ tag }) => tag === 'accounturi');
  if (wanted === undefined) return true;
  if (more.length > 0 || wanted.value === '') return false;
  return accountUri === null || wanted.value === accountUri;
}

/** RFC 8657, 4: at most one `validationmethods`, well formed throughout, our method among its names. */
function methodMatches({ parameters }: IssueValue, method: CaaAuthority['method']): boolean {
  const [wanted, ...more] = parameters.filter(({ tag }) => tag === 'validationmethods');
  if (wanted === undefined) return true;
  const names = wanted.value.split(',');
  return (
    more.length === 0 &&
    names.every((name) => /^[A-Za-z0-9-]+$/.test(name)) &&
    names.includes(method)
  );
}

/**
 * What a further record for our authority asks for, to be no wider than those that are there: the same parameters, with
 * our own values as far as they are known (RFC 8657).
 */
export function ownParameters(
  relevant: readonly string[],
  ca: CaaAuthority,
): readonly CaaParameter[] {
  const used = new Set(
    valuesForUs(relevant, ca).flatMap(({ parameters }) => parameters.map(({ tag }) => tag)),
  );
  const own = [
    { tag: 'accounturi', value: ca.accountUri },
    { tag: 'validationmethods', value: ca.method },
  ];
  return own.flatMap(({ tag, value }) => (value !== null && used.has(tag) ? { tag, value } : []));
}

/** Whether there are records for our authority, and all of them leave our method out. */
export function leaveOutMethod(relevant: readonly string[], ca: CaaAuthority): boolean {
  const ours = valuesForUs(relevant, ca);
  return ours.length > 0 && ours.every((value) => !methodMatches(value, ca.method));
}

function valuesForUs(relevant: readonly string[], ca: CaaAuthority): readonly IssueValue[] {
  return relevant
    .flatMap((value) => parseIssueValue(value, authorityReading.parameterTag) ?? [])
    .filter((parsed) => ca.issuerDomains.includes(authorityReading.issuerOf(parsed)));
}

/** Returns how a value that was meant for our authority is written wrongly; undefined for any other value. */
export function hintFor(value: string, { issuerDomains }: CaaAuthority): CaaHint | undefined {
  const written = issuerTextOf(value);
  const lower = written.toLowerCase();
  const ours = (name: string) => issuerDomains.includes(name);
  if (ours(written)) return undefined;
  if (ours(lower)) return 'lower_case';
  if (ours(lower.replace(/\.$/, ''))) return 'no_trailing_dot';
  // A scheme, a path, quotes or a "www." around the name.
  const names = lower.split(/[^a-z0-9.-]+/).map((name) => name.replace(/^www\./, ''));
  return names.some(ours) ? 'bare_name' : undefined;
}

/** Whether a value was meant for our CA and allows no one because of how it is written. */
export function isMisspelt(value: string, ca: CaaAuthority): boolean {
  return (
    hintFor(value, ca) !== undefined ||
    (ca.issuerDomains.includes(issuerTextOf(value)) &&
      parseIssueValue(value, authorityReading.parameterTag) === undefined)
  );
}
