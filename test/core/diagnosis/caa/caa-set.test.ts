import { describe, expect, it } from 'vitest';
import { evaluateCaa } from '../../../../src/core/diagnosis/caa/caa.ts';
import type { CaaAuthority } from '../../../../src/core/diagnosis/caa/caa-set.ts';
import type { CaaRecord } from '../../../../src/core/diagnosis/observation.ts';
import { levelsIn, caaRecord as record } from '../../support/caa-zone.ts';

const ACCOUNT = 'https://acme.example/acct/123';
const ours: CaaAuthority = {
  issuerDomains: ['letsencrypt.org'],
  accountUri: ACCOUNT,
  method: 'http-01',
};

function decideFor(records: readonly CaaRecord[], ca = ours, wildcard = false) {
  return evaluateCaa(levelsIn({ 'a.com': records }, 'a.com'), ca, { wildcard });
}

type Row = readonly [records: readonly string[], outcome: string, rfc?: 'allow' | 'deny'];

function titleOf([records, outcome]: Row): string {
  return `${JSON.stringify(records)}: ${outcome}`;
}

function outcomeOf(verdict: ReturnType<typeof decideFor>): string {
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind;
}

/** The outcome is `allow` or the reason of the denial; `rfc` if the RFCs differ. */
function expectRow([records, outcome, rfc]: Row, ca = ours, wildcard = false): void {
  const verdict = decideFor(records.map(record), ca, wildcard);
  expect(outcomeOf(verdict)).toBe(outcome);
  expect(verdict).toMatchObject({ rfc: rfc ?? (outcome === 'allow' ? 'allow' : 'deny') });
}

describe('flags and tags', () => {
  const rows: readonly Row[] = [
    [['0 issue ca.com', '0 ISSUE letsencrypt.org'], 'allow'],
    [['128 issue letsencrypt.org'], 'allow'],
    [['128 issuewild ca.com'], 'allow'],
    [['128 iodef mailto:a@b.c'], 'allow'],
    [['128 issuemail ca.com'], 'allow'],
    [['128 issuevmc ca.com'], 'allow'],
    [['0 contactemail a@b.c'], 'allow'],
    [['128 contactemail a@b.c'], 'unknown_critical', 'allow'],
    [['128 contactphone 1'], 'unknown_critical', 'allow'],
    [['0 issue letsencrypt.org', '128 foo bar'], 'unknown_critical'],
    [['0 issue letsencrypt.org', '1 foo bar'], 'unknown_critical', 'allow'],
    [['129 foo bar'], 'unknown_critical'],
    [['255 foo bar'], 'unknown_critical'],
    [['254 foo bar'], 'unknown_critical'],
    [['64 foo bar', '2 foo bar'], 'allow'],
    [['0 is-sue ca.com'], 'allow'],
    [['128 is-sue ca.com'], 'unknown_critical'],
  ];
  for (const row of rows) it(titleOf(row), () => expectRow(row));
});

describe('issue values', () => {
  const rows: readonly Row[] = [
    [['0 issue '], 'nobody'],
    [['0 issue ;'], 'nobody'],
    [['0 issue ; policy=ev'], 'nobody'],
    [['0 issue %%%%%'], 'malformed'],
    [['0 issue ca.com', '0 issue %%%%%', '0 issue ;'], 'malformed'],
    [['0 issue ;', '0 issue letsencrypt.org'], 'allow'],
    [['0 issue %%%%%', '0 issue letsencrypt.org'], 'allow'],
    [['0 issue \t letsencrypt.org \t'], 'allow'],
    [['0 issue \\009letsencrypt.org\\009;'], 'allow'],
    [['0 issue letsencrypt.org\u00a0'], 'malformed'],
    [['0 issue letsencrypt.org\\160'], 'malformed'],
    [['0 issue letsencrypt.org;'], 'allow'],
    [['0 issue letsencrypt.org ; '], 'allow'],
    [['0 issue letsencrypt.org;;'], 'malformed'],
    [['0 issue letsencrypt.org; a=b;'], 'malformed'],
    [['0 issue letsencrypt.org; a'], 'malformed'],
    [['0 issue letsencrypt.org a=b'], 'malformed'],
    [['0 issue letsencrypt.org; a=b c'], 'malformed'],
    [['0 issue letsencrypt.org; a=ü'], 'malformed'],
    [['0 issue letsencrypt.org; a=\\195\\188'], 'malformed'],
    [['0 issue letsencrypt.org; a=\\092'], 'allow'],
    [['0 issue letsencrypt.org; a = b=c== ;d='], 'allow'],
    [['0 issue letsencrypt.org; a-b=c'], 'malformed', 'allow'],
    [['0 issue letsencrypt.org; a_b=c'], 'malformed'],
    [['0 issue letsencrypt.org; =c'], 'allow', 'deny'],
    [['0 issue sub.letsencrypt.org'], 'other_authority'],
    [['0 issue letsencrypt.org.evil.com'], 'other_authority'],
    [['0 issue LETSENCRYPT.ORG'], 'other_authority', 'allow'],
    [['0 issue -letsencrypt.org'], 'malformed'],
    [['0 issue letsencrypt..org'], 'malformed'],
  ];
  for (const row of rows) it(titleOf(row), () => expectRow(row));
});

describe('accounts and methods', () => {
  const account = `0 issue letsencrypt.org; accounturi=${ACCOUNT}`;
  const methods = '0 issue letsencrypt.org; validationmethods=';
  const rows: readonly Row[] = [
    [[account], 'allow'],
    [[`${account}/`], 'other_account'],
    [[`${account}; accounturi=${ACCOUNT}`], 'other_account'],
    [['0 issue letsencrypt.org; accounturi='], 'other_account'],
    [['0 issue letsencrypt.org; AccountUri=https://x.example/'], 'allow'],
    [['0 issue letsencrypt.org; unknown=1'], 'allow'],
    [['0 issue ca.com; accounturi=x', '0 issue letsencrypt.org; accounturi=y'], 'other_account'],
    [[`${methods}http-01`], 'allow'],
    [[`${methods}ca-own-way,http-01`], 'allow'],
    [[`${methods}HTTP-01`], 'other_method'],
    [[`${methods}`], 'other_method'],
    [[`${methods}http-01,`], 'other_method'],
    [[`${methods}http-01,,dns-01`], 'other_method'],
    [[`${methods}http_01,http-01`], 'other_method'],
    [[`${methods}http-01, dns-01`], 'malformed'],
    [[`${methods}http-01;validationmethods=http-01`], 'other_method'],
  ];
  for (const row of rows) it(titleOf(row), () => expectRow(row));

  it('do not deny us without an account, as any could still become ours', () => {
    const withoutAccount = { ...ours, accountUri: null };
    expectRow(
      [['0 issue letsencrypt.org; accounturi=https://x.example/9'], 'allow'],
      withoutAccount,
    );
    expectRow([['0 issue letsencrypt.org; accounturi='], 'other_account'], withoutAccount);
    expectRow(
      [['0 issue letsencrypt.org; accounturi=a;accounturi=b'], 'other_account'],
      withoutAccount,
    );
  });
});

describe('a wildcard', () => {
  const rows: readonly Row[] = [
    [['0 issue letsencrypt.org'], 'allow'],
    [['0 issue ca.com'], 'other_authority'],
    [['0 issue ca.com', '0 issuewild letsencrypt.org'], 'allow'],
    [['0 issue letsencrypt.org', '0 issuewild ;'], 'nobody'],
    [['0 iodef mailto:a@b.c'], 'allow'],
  ];
  for (const row of rows) it(`under ${titleOf(row)}`, () => expectRow(row, ours, true));
});

describe('a record that was meant for us', () => {
  it.each([
    ['LetsEncrypt.org', 'lower_case'],
    ['letsencrypt.org.', 'no_trailing_dot'],
    ['LETSENCRYPT.ORG. ; a=b', 'no_trailing_dot'],
    ['https://letsencrypt.org/', 'bare_name'],
    ['"letsencrypt.org"', 'bare_name'],
    ['www.letsencrypt.org', 'bare_name'],
    ['ca.com', undefined],
    ['notletsencrypt.org', undefined],
    ['letsencrypt.org; a_b=c', undefined],
  ])('%s gets the hint %s', (value, hint) => {
    const verdict = decideFor([record('0 issue ca.com'), { flags: 0, tag: 'issue', value }]);
    expect(verdict.kind === 'deny' ? verdict.hint : 'not denied').toBe(hint);
  });
});
