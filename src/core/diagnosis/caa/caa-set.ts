/**
 * Whether one CAA set allows our CA (RFC 8659, section 4; RFC 8657). Each set is read as the CA
 * reads it (Let's Encrypt: boulder, va/caa.go) and as the RFCs define it.
 */

import type { CaaRecord } from '../observation.ts';
import { type CaaParameter, type IssueValue, issuerTextOf, parseIssueValue } from './caa-value.ts';

export type CaaAuthority = {
  /** Lowercase. Findings recommend the first. */
  readonly issuerDomains: readonly [string, ...string[]];
  /** Null before the account exists, or if the CA has no accounts. */
  readonly accountUri: string | null;
  readonly method: 'http-01' | 'dns-01' | 'tls-alpn-01';
};

export type CaaDenial =
  | 'unknown_critical'
  | 'other_method'
  | 'other_account'
  | 'malformed'
  | 'other_authority'
  | 'nobody';

export type CaaHint = 'lower_case' | 'no_trailing_dot' | 'bare_name';

/** Where readers of CAA records differ. */
export type Reading = {
  /** Flag bits that mark a property as critical. */
  readonly criticalBits: number;
  /** Lowercase. */
  readonly knownTags: ReadonlySet<string>;
  readonly parameterTag: RegExp;
  /** In the form to compare. */
  readonly issuerOf: (value: IssueValue) => string;
};

const tagsEveryoneKnows = ['issue', 'issuewild', 'iodef', 'issuemail', 'issuevmc'];

export const authorityReading: Reading = {
  // The value 1 also counts as critical: publishers often confuse the two.
  criticalBits: 128 | 1,
  knownTags: new Set(tagsEveryoneKnows),
  parameterTag: /^[A-Za-z0-9]*$/,
  issuerOf: ({ issuer }) => issuer,
};

export const rfcReading: Reading = {
  // RFC 8659, section 4.1: only bit 0, the most significant one; others are ignored.
  criticalBits: 128,
  // Registered by the CA/Browser Forum (Baseline Requirements, A.1).
  knownTags: new Set([...tagsEveryoneKnows, 'contactemail', 'contactphone']),
  parameterTag: /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/,
  // Domain names compare case-insensitively (RFC 4343).
  issuerOf: ({ issuer }) => issuer.toLowerCase(),
};

/** RFC 8659, section 4.3. If empty, only an unknown critical property restricts issuance. */
export function relevantValues(
  records: readonly CaaRecord[],
  wildcard: boolean,
): readonly string[] {
  const valuesOf = (wanted: string) =>
    records.filter(({ tag }) => tag.toLowerCase() === wanted).map(({ value }) => value);
  const wild = wildcard ? valuesOf('issuewild') : [];
  return wild.length > 0 ? wild : valuesOf('issue');
}

/** From the record closest to allowing us to the furthest. */
const denials: readonly CaaDenial[] = [
  'other_method',
  'other_account',
  'malformed',
  'other_authority',
  'nobody',
];

/** By the record closest to allowing our CA; undefined if the set allows it. */
export function denialOf(
  records: readonly CaaRecord[],
  relevant: readonly string[],
  ca: CaaAuthority,
  reading: Reading,
): CaaDenial | undefined {
  if (records.some((record) => forbidsAll(record, reading))) return 'unknown_critical';
  const found = relevant.map((value) => denialOfValue(value, ca, reading));
  // One authorizing record is enough.
  if (found.includes(undefined)) return undefined;
  return denials.find((denial) => found.includes(denial));
}

/** An unknown critical property forbids all issuance (RFC 8659, section 4.1). */
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
 * At most one `accounturi`, identical to ours (RFC 8657, section 3). While our account is unknown,
 * any passes: the first order creates the account.
 */
function accountMatches({ parameters }: IssueValue, accountUri: string | null): boolean {
  const [wanted, ...more] = parameters.filter(({ tag }) => tag === 'accounturi');
  if (wanted === undefined) return true;
  if (more.length > 0 || wanted.value === '') return false;
  return accountUri === null || wanted.value === accountUri;
}

/** At most one `validationmethods`, well formed, that includes our method (RFC 8657, section 4). */
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

/** As restrictive as the existing records, with our own values where known (RFC 8657). */
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

export function leaveOutMethod(relevant: readonly string[], ca: CaaAuthority): boolean {
  const ours = valuesForUs(relevant, ca);
  return ours.length > 0 && ours.every((value) => !methodMatches(value, ca.method));
}

function valuesForUs(relevant: readonly string[], ca: CaaAuthority): readonly IssueValue[] {
  return relevant
    .flatMap((value) => parseIssueValue(value, authorityReading.parameterTag) ?? [])
    .filter((parsed) => ca.issuerDomains.includes(authorityReading.issuerOf(parsed)));
}

/** Undefined for a value that is not meant for our CA. */
export function hintFor(value: string, { issuerDomains }: CaaAuthority): CaaHint | undefined {
  const written = issuerTextOf(value);
  const lower = written.toLowerCase();
  const ours = (name: string) => issuerDomains.includes(name);
  if (ours(written)) return undefined;
  if (ours(lower)) return 'lower_case';
  if (ours(lower.replace(/\.$/, ''))) return 'no_trailing_dot';
  // Handles a scheme, a path, quotes or a "www." around the name.
  const names = lower.split(/[^a-z0-9.-]+/).map((name) => name.replace(/^www\./, ''));
  return names.some(ours) ? 'bare_name' : undefined;
}

export function isMisspelt(value: string, ca: CaaAuthority): boolean {
  return (
    hintFor(value, ca) !== undefined ||
    (ca.issuerDomains.includes(issuerTextOf(value)) &&
      parseIssueValue(value, authorityReading.parameterTag) === undefined)
  );
}
