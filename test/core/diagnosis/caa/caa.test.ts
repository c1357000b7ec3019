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

describe('the vectors', () => {
  it.each(file.vectors)('$id: $request is $expect', (vector) => {
    const { zone, request, wildcard } = vector;
    const verdict = evaluateCaa(levelsIn(zone, request), ours, { wildcard });
    expect(verdict.kind).toBe(vector.expect);
    if (verdict.kind === 'unknown') return;
    expect(verdict.foundAt).toBe(vector.foundAt ?? null);
    expect(verdict.rfc).toBe(vector.rfcOnly ?? vector.expect);
  });
});

describe('the names that are asked', () => {
  it.each([
    ['docs.example.co.uk', ['docs.example.co.uk', 'example.co.uk', 'co.uk', 'uk']],
    ['*.example.com', ['example.com', 'com']],
    ['DOCS.Example.com.', ['docs.example.com', 'example.com', 'com']],
    ['com', ['com']],
    ['', []],
  ])('for %s go up to the top-level domain and never to the root', (hostname, names) => {
    expect(caaLevels(hostname)).toEqual(names);
  });
});

const issue = (value: string, flags = 0) => ({ flags, tag: 'issue', value });
const set = [issue('letsencrypt.org')];
const foreign = [issue('ca.com')];

describe('the climb', () => {
  const rows: readonly (readonly [why: string, zone: CaaZone, expected: object])[] = [
    [
      'stops at the nearest set, and nothing above is merged in',
      { 'a.example.com': foreign, 'example.com': set },
      { kind: 'deny', foundAt: 'a.example.com' },
    ],
    [
      'is not begun again from where an alias leads',
      { 'a.example.com': { cname: 'x.other.net' }, 'other.net': foreign },
      { kind: 'allow', foundAt: null },
    ],
    [
      'counts a set behind an alias as the name’s own, also at a parent',
      { 'example.com': { cname: 'other.net' }, 'other.net': foreign },
      { kind: 'deny', foundAt: 'example.com' },
    ],
    [
      'takes an alias that never ends for a failure',
      { 'a.example.com': { cname: 'a.example.com' } },
      { kind: 'unknown', name: 'a.example.com', outcome: 'servfail' },
    ],
    [
      'takes a refused question for a failure',
      { 'example.com': 'REFUSED' },
      { kind: 'unknown', name: 'example.com', outcome: 'refused' },
    ],
    [
      'takes a name that does not exist for one without a set',
      { 'a.example.com': 'NXDOMAIN', 'example.com': set },
      { kind: 'allow', foundAt: 'example.com' },
    ],
    [
      'does not believe that a top-level domain does not exist',
      { com: 'NXDOMAIN' },
      { kind: 'unknown', name: 'com', outcome: 'nxdomain' },
    ],
    [
      'does not care about a failure above the set',
      { 'a.example.com': set, 'example.com': 'TIMEOUT', com: 'NXDOMAIN' },
      { kind: 'allow', foundAt: 'a.example.com' },
    ],
  ];
  it.each(rows)('%s', (_, zone, expected) => {
    expect(evaluateCaa(levelsIn(zone, 'a.example.com'), ours, { wildcard: false })).toMatchObject(
      expected,
    );
  });

  it('goes on in a laboratory, whose top-level domain no registry has', () => {
    const levels = levelsIn({ test: 'NXDOMAIN' }, 'docs.lab.test');
    expect(evaluateCaa(levels, ours, { wildcard: false })).toMatchObject({ kind: 'allow' });
  });
});

describe('a verdict', () => {
  it('shows the whole set, what to remove and why', () => {
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

  it('shows the set that lets us issue, in one order whatever the servers do', () => {
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

  it('has neither records nor warnings where there is no set', () => {
    expect(evaluateCaa(levelsIn({}, 'a.com'), ours, { wildcard: false })).toEqual({
      kind: 'allow',
      foundAt: null,
      records: [],
      warnings: [],
      rfc: 'allow',
    });
  });

  it('names our method where a record for our authority leaves it out, and only there', () => {
    const decided = (value: string) =>
      evaluateCaa(levelsIn({ 'a.com': [issue(value)] }, 'a.com'), ours, { wildcard: false });
    expect(decided('letsencrypt.org; validationmethods=dns-01')).toMatchObject({
      reason: 'other_method',
      method: 'http-01',
    });
    expect(decided('ca.com')).not.toHaveProperty('method');
  });

  it('is about each identity of the authority', () => {
    const both: CaaAuthority = { ...ours, issuerDomains: ['ssl.com', 'letsencrypt.org'] };
    const levels = levelsIn({ 'a.com': set }, 'a.com');
    expect(evaluateCaa(levels, both, { wildcard: false })).toMatchObject({ kind: 'allow' });
  });
});

describe('a permission warns', () => {
  const nobodyYet = { ...ours, accountUri: null };
  const rows: readonly (readonly [
    why: string,
    ca: CaaAuthority,
    values: readonly string[],
    warnings: readonly CaaWarning[],
  ])[] = [
    ['of what the RFCs forbid', ours, ['letsencrypt.org; =c'], ['rfc_denies']],
    [
      'of an account while ours is not known',
      nobodyYet,
      ['letsencrypt.org; accounturi=https://acme.example/9'],
      ['account_untold'],
    ],
    [
      'of no account beside a record for all of them',
      nobodyYet,
      ['letsencrypt.org; accounturi=https://acme.example/9', 'letsencrypt.org'],
      [],
    ],
    ['of no account where none is named', nobodyYet, ['letsencrypt.org'], []],
    ['of an upper case name', ours, ['letsencrypt.org', 'LetsEncrypt.org'], ['misspelt']],
    ['of a pasted address', ours, ['letsencrypt.org', 'https://letsencrypt.org'], ['misspelt']],
    ['of a malformed parameter', ours, ['letsencrypt.org', 'letsencrypt.org; a_b=c'], ['misspelt']],
    ['of nothing in the records of others', ours, ['letsencrypt.org', 'CA.com.', '%%%', ';'], []],
    [
      'of nothing where another method is left out',
      ours,
      ['letsencrypt.org; validationmethods=http-01'],
      [],
    ],
  ];
  it.each(rows)('%s', (_, ca, values, warnings) => {
    const levels = levelsIn({ 'a.com': values.map((value) => issue(value)) }, 'a.com');
    expect(evaluateCaa(levels, ca, { wildcard: false })).toMatchObject({ kind: 'allow', warnings });
  });
});
