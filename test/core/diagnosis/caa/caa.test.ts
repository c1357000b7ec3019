import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { CaaWarning } from '../../../../src/core/diagnosis/caa/caa.ts';
import { caaLevels, evaluateCaa } from '../../../../src/core/diagnosis/caa/caa.ts';
import type { CaaAuthority } from '../../../../src/core/diagnosis/caa/caa-set.ts';
import { type CaaZone, levelsIn } from '../../support/caa-zone.ts';

type Vector = {
  readonly id: string;
  readonly zone: CaaZone;
  readonly request: string;
  readonly wildcard: boolean;
  readonly expect: 'allow' | 'deny' | 'unknown';
  readonly foundAt?: string;
  readonly rfcOnly?: 'allow' | 'deny';
};

const file: {
  readonly ca: { readonly issuer: string; readonly accountUri: string };
  readonly vectors: readonly Vector[];
} = JSON.parse(readFileSync(new URL('../../../vectors/caa.json', import.meta.url), 'utf8'));

const ours: CaaAuthority = {
  issuerDomains: [file.ca.issuer],
  accountUri: file.ca.accountUri,
  method: 'http-01',
};

describe('the CAA vectors', () => {
  it.each(file.vectors)('$id: $request is $expect', (vector) => {
    const { zone, request, wildcard } = vector;
    const verdict = evaluateCaa(levelsIn(zone, request), ours, { wildcard });
    expect(verdict.kind).toBe(vector.expect);
    if (verdict.kind === 'unknown') return;
    expect(verdict.foundAt).toBe(vector.foundAt ?? null);
    expect(verdict.rfc).toBe(vector.rfcOnly ?? vector.expect);
  });
});

describe('the queried names', () => {
  it.each([
    ['docs.example.co.uk', ['docs.example.co.uk', 'example.co.uk', 'co.uk', 'uk']],
    ['*.example.com', ['example.com', 'com']],
    ['DOCS.Example.com.', ['docs.example.com', 'example.com', 'com']],
    ['com', ['com']],
    ['', []],
  ])('for %s end at the top-level domain, before the root', (hostname, names) => {
    expect(caaLevels(hostname)).toEqual(names);
  });
});

const issue = (value: string, flags = 0) => ({ flags, tag: 'issue', value });
const set = [issue('letsencrypt.org')];
const foreign = [issue('ca.com')];

describe('the climb', () => {
  const rows: readonly (readonly [why: string, zone: CaaZone, expected: object])[] = [
    [
      'stops at the closest set and merges no records from above',
      { 'a.example.com': foreign, 'example.com': set },
      { kind: 'deny', foundAt: 'a.example.com' },
    ],
    [
      'does not restart at the target of an alias',
      { 'a.example.com': { cname: 'x.other.net' }, 'other.net': foreign },
      { kind: 'allow', foundAt: null },
    ],
    [
      'counts a set behind an alias as the name’s own, also at a parent',
      { 'example.com': { cname: 'other.net' }, 'other.net': foreign },
      { kind: 'deny', foundAt: 'example.com' },
    ],
    [
      'treats an endless alias as a failure',
      { 'a.example.com': { cname: 'a.example.com' } },
      { kind: 'unknown', name: 'a.example.com', outcome: 'servfail' },
    ],
    [
      'treats a refused query as a failure',
      { 'example.com': 'REFUSED' },
      { kind: 'unknown', name: 'example.com', outcome: 'refused' },
    ],
    [
      'treats a nonexistent name as one without a set',
      { 'a.example.com': 'NXDOMAIN', 'example.com': set },
      { kind: 'allow', foundAt: 'example.com' },
    ],
    [
      'does not trust that a top-level domain does not exist',
      { com: 'NXDOMAIN' },
      { kind: 'unknown', name: 'com', outcome: 'nxdomain' },
    ],
    [
      'ignores a failure above the set',
      { 'a.example.com': set, 'example.com': 'TIMEOUT', com: 'NXDOMAIN' },
      { kind: 'allow', foundAt: 'a.example.com' },
    ],
  ];
  it.each(rows)('%s', (_, zone, expected) => {
    expect(evaluateCaa(levelsIn(zone, 'a.example.com'), ours, { wildcard: false })).toMatchObject(
      expected,
    );
  });

  it('continues in a test lab, whose top-level domain has no registry', () => {
    const levels = levelsIn({ test: 'NXDOMAIN' }, 'docs.lab.test');
    expect(evaluateCaa(levels, ours, { wildcard: false })).toMatchObject({ kind: 'allow' });
  });
});

describe('a verdict', () => {
  it('shows the whole set, the records to remove and the reason', () => {
    const zone = { 'a.com': [{ flags: 129, tag: 'Foo', value: 'x"y' }, issue(' letsencrypt.org')] };
    expect(evaluateCaa(levelsIn(zone, 'a.com'), ours, { wildcard: false })).toEqual({
      kind: 'deny',
      foundAt: 'a.com',
      records: ['0 issue " letsencrypt.org"', '129 Foo "x\\"y"'],
      toAdd: '0 issue "letsencrypt.org"',
      toRemove: ['129 Foo "x\\"y"'],
      reason: 'unknown_critical',
      rfc: 'deny',
    });
  });

  it('shows the permitting set in a stable order', () => {
    const records = [issue('letsencrypt.org'), issue('ca.com')];
    for (const some of [records, [...records].reverse()]) {
      expect(evaluateCaa(levelsIn({ 'a.com': some }, 'a.com'), ours, { wildcard: false })).toEqual({
        kind: 'allow',
        foundAt: 'a.com',
        records: ['0 issue "ca.com"', '0 issue "letsencrypt.org"'],
        warnings: [],
        rfc: 'allow',
      });
    }
  });

  it('has neither records nor warnings without a set', () => {
    expect(evaluateCaa(levelsIn({}, 'a.com'), ours, { wildcard: false })).toEqual({
      kind: 'allow',
      foundAt: null,
      records: [],
      warnings: [],
      rfc: 'allow',
    });
  });

  it('names our method only when a record for our CA excludes it', () => {
    const decided = (value: string) =>
      evaluateCaa(levelsIn({ 'a.com': [issue(value)] }, 'a.com'), ours, { wildcard: false });
    expect(decided('letsencrypt.org; validationmethods=dns-01')).toMatchObject({
      reason: 'other_method',
      method: 'http-01',
    });
    expect(decided('ca.com')).not.toHaveProperty('method');
  });

  it('covers every issuer domain of the CA', () => {
    const both: CaaAuthority = { ...ours, issuerDomains: ['ssl.com', 'letsencrypt.org'] };
    const levels = levelsIn({ 'a.com': set }, 'a.com');
    expect(evaluateCaa(levels, both, { wildcard: false })).toMatchObject({ kind: 'allow' });
  });
});

describe('a permission warns', () => {
  const withoutAccount = { ...ours, accountUri: null };
  const rows: readonly (readonly [
    why: string,
    ca: CaaAuthority,
    values: readonly string[],
    warnings: readonly CaaWarning[],
  ])[] = [
    ['about what the RFCs forbid', ours, ['letsencrypt.org; =c'], ['rfc_denies']],
    [
      'about an account while ours is unknown',
      withoutAccount,
      ['letsencrypt.org; accounturi=https://acme.example/9'],
      ['account_untold'],
    ],
    [
      'about no account beside a record for all of them',
      withoutAccount,
      ['letsencrypt.org; accounturi=https://acme.example/9', 'letsencrypt.org'],
      [],
    ],
    ['about no account when none is named', withoutAccount, ['letsencrypt.org'], []],
    ['about an uppercase name', ours, ['letsencrypt.org', 'LetsEncrypt.org'], ['misspelt']],
    ['about a pasted address', ours, ['letsencrypt.org', 'https://letsencrypt.org'], ['misspelt']],
    ['about a bad parameter', ours, ['letsencrypt.org', 'letsencrypt.org; a_b=c'], ['misspelt']],
    ['about no records of other CAs', ours, ['letsencrypt.org', 'CA.com.', '%%%', ';'], []],
    ['about no excluded method of ours', ours, ['letsencrypt.org; validationmethods=http-01'], []],
  ];
  it.each(rows)('%s', (_, ca, values, warnings) => {
    const levels = levelsIn({ 'a.com': values.map((value) => issue(value)) }, 'a.com');
    expect(evaluateCaa(levels, ca, { wildcard: false })).toMatchObject({ kind: 'allow', warnings });
  });
});
