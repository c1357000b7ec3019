/** RFC 8659 and RFC 8657 sentence by sentence, and Let's Encrypt's interpretation. */
import { describe, expect, it } from 'vitest';
import { evaluateCaa } from '../../../../src/core/diagnosis/caa/caa.ts';
import type { CaaAuthority } from '../../../../src/core/diagnosis/caa/caa-set.ts';
import { type CaaZone, caaRecord, levelsIn } from '../../support/caa-zone.ts';

const account = 'https://acme.example/acct/123';
const ours: CaaAuthority = {
  issuerDomains: ['letsencrypt.org'],
  accountUri: account,
  method: 'http-01',
};

type Entry = readonly string[] | Exclude<CaaZone[string], readonly object[]>;
type Zone = Readonly<Record<string, Entry>>;

/** `allow`, `deny` or `unknown`, and where the set was found; `rfc` if the RFCs differ. */
type Row = readonly [sentence: string, zone: Zone, outcome: string, rfc?: 'allow' | 'deny'];

function decideFor(zone: Zone, request: string) {
  const records = Object.entries(zone).map(
    ([name, entry]) => [name, Array.isArray(entry) ? entry.map(caaRecord) : entry] as const,
  );
  const wildcard = request.startsWith('*.');
  return evaluateCaa(levelsIn(Object.fromEntries(records) as CaaZone, request), ours, { wildcard }); // the loop above fills it
}

function hold(request: string, rows: readonly Row[]): void {
  for (const [sentence, zone, outcome, rfc] of rows) {
    it(sentence, () => {
      const verdict = decideFor(zone, request);
      const at = verdict.kind === 'unknown' ? verdict.name : verdict.foundAt;
      expect(at === null ? verdict.kind : `${verdict.kind} at ${at}`).toBe(outcome);
      if (verdict.kind !== 'unknown') expect(verdict.rfc).toBe(rfc ?? verdict.kind);
    });
  }
}

const us = ['0 issue letsencrypt.org'];
const other = ['0 issue ca.com'];

describe('finding the record set', () => {
  hold('a.b.com', [
    ['starts at the name itself', { 'a.b.com': us, 'b.com': other }, 'allow at a.b.com'],
    ['continues above it', { 'b.com': other }, 'deny at b.com'],
    ['reaches the top-level domain', { com: other }, 'deny at com'],
    ['never queries the root', { '': other }, 'allow'],
    [
      'merges no records from above',
      { 'a.b.com': ['0 iodef mailto:a@b.com'], 'b.com': other },
      'allow at a.b.com',
    ],
    ['allows every CA without a record set', {}, 'allow'],
    [
      'counts the set behind an alias as the name’s own',
      { 'a.b.com': { cname: 'x.net' }, 'x.net': us, 'b.com': other },
      'allow at a.b.com',
    ],
    [
      'counts the set behind several aliases, also for a denial',
      { 'a.b.com': { cname: 'x.net' }, 'x.net': { cname: 'y.net' }, 'y.net': other, 'b.com': us },
      'deny at a.b.com',
    ],
    [
      'never climbs from the target of an alias',
      { 'a.b.com': { cname: 'x.net' }, net: other, 'b.com': us },
      'allow at b.com',
    ],
    [
      'follows an alias of a parent',
      { 'b.com': { cname: 'x.net' }, 'x.net': other },
      'deny at b.com',
    ],
    [
      'follows a DNAME above the name',
      { 'b.com': { dname: 'x.net' }, 'a.x.net': other },
      'deny at a.b.com',
    ],
    [
      'does not redirect the owner of a DNAME',
      { 'b.com': { dname: 'x.net' }, 'x.net': other },
      'allow',
    ],
    ['treats a failure as unknown', { 'a.b.com': 'SERVFAIL' }, 'unknown at a.b.com'],
    ['treats a timeout as unknown', { 'b.com': 'TIMEOUT' }, 'unknown at b.com'],
    ['treats REFUSED as unknown', { com: 'REFUSED' }, 'unknown at com'],
    [
      'treats a failure behind an alias as unknown',
      { 'a.b.com': { cname: 'x.net' }, 'x.net': 'SERVFAIL', 'b.com': us },
      'unknown at a.b.com',
    ],
    [
      'denies for a failure below the set',
      { 'a.b.com': 'TIMEOUT', 'b.com': us },
      'unknown at a.b.com',
    ],
    ['ignores a failure above the set', { 'a.b.com': us, 'b.com': 'SERVFAIL' }, 'allow at a.b.com'],
    [
      'ignores a failure above a set that forbids',
      { 'b.com': other, com: 'TIMEOUT' },
      'deny at b.com',
    ],
    ['treats a nonexistent name as an empty one', { 'a.b.com': 'NXDOMAIN' }, 'allow'],
    [
      'continues above nonexistent names',
      { 'a.b.com': 'NXDOMAIN', 'b.com': 'NXDOMAIN', com: other },
      'deny at com',
    ],
    ['treats an empty set as none', { 'a.b.com': [], 'b.com': other }, 'deny at b.com'],
    ['treats a nonexistent top-level domain as a failure', { com: 'NXDOMAIN' }, 'unknown at com'],
  ]);
});

describe('the record set of a wildcard is looked up', () => {
  hold('*.b.com', [
    ['at the name below the asterisk', { 'b.com': other }, 'deny at b.com'],
    ['and above it', { com: us }, 'allow at com'],
  ]);
});

describe('flags and tags', () => {
  const at = (...records: string[]): Zone => ({ 'a.com': records });
  hold('a.com', [
    ['128 is the critical flag', at('128 foo bar'), 'deny at a.com'],
    ['other flags are ignored', at('126 foo bar'), 'allow at a.com'],
    ['the CA treats 1 as critical', at('1 foo bar'), 'deny at a.com', 'allow'],
    ['tags are case-insensitive', at('0 IsSuE ca.com'), 'deny at a.com'],
    ['a critical unknown tag outweighs a permission', at(...us, '128 foo bar'), 'deny at a.com'],
    ['its value is irrelevant', at(...us, '128 foo letsencrypt.org'), 'deny at a.com'],
    ['an unknown tag that is not critical is ignored', at(...other, '0 foo bar'), 'deny at a.com'],
    ['a tag with a hyphen is unknown', at('128 is-sue letsencrypt.org'), 'deny at a.com'],
    ['issue is known', at('128 issue letsencrypt.org'), 'allow at a.com'],
    ['issuewild is known', at('128 issuewild ca.com'), 'allow at a.com'],
    ['iodef is known in any case', at('128 IODEF mailto:a@b.c'), 'allow at a.com'],
    ['issuemail is known', at('128 issuemail ca.com'), 'allow at a.com'],
    ['issuevmc is known', at('129 issuevmc ca.com'), 'allow at a.com'],
    ['contactemail is unknown to the CA', at('128 contactemail a@b.c'), 'deny at a.com', 'allow'],
    ['contactphone is unknown to the CA', at('128 contactphone 1'), 'deny at a.com', 'allow'],
    ['contactemail that is not critical is ignored', at('0 contactemail a@b.c'), 'allow at a.com'],
    ['issuewild is ignored for a normal name', at('0 issuewild ;'), 'allow at a.com'],
    ['and authorizes no normal name', at(...other, '0 issuewild letsencrypt.org'), 'deny at a.com'],
    ['iodef alone restricts nothing', at('0 iodef mailto:a@b.c'), 'allow at a.com'],
    ['unknown tags alone restrict nothing', at('0 foo bar', '64 baz ;'), 'allow at a.com'],
    ['one authorizing record is sufficient', at(...other, ...us), 'allow at a.com'],
    ['a record without an issuer adds no permission', at('0 issue ;', ...us), 'allow at a.com'],
    ['several other issuers do not authorize us', at(...other, '0 issue ca.org'), 'deny at a.com'],
  ]);
  hold('*.a.com', [
    ['issuewild replaces issue for a wildcard', at(...us, '0 issuewild ca.com'), 'deny at a.com'],
    ['and is sufficient', at(...other, '0 issuewild letsencrypt.org'), 'allow at a.com'],
    ['issue applies to a wildcard without issuewild', at(...other), 'deny at a.com'],
    ['a wildcard is allowed with neither', at('0 iodef mailto:a@b.c'), 'allow at a.com'],
    ['a malformed issuewild also restricts', at(...us, '0 issuewild %%%'), 'deny at a.com'],
  ]);
});

describe('values', () => {
  const issue = (...values: string[]): Zone => ({
    'a.com': values.map((value) => `0 issue ${value}`),
  });
  hold('a.com', [
    ['blanks may surround the issuer', issue(' \t letsencrypt.org \t'), 'allow at a.com'],
    ['and parameters', issue('letsencrypt.org \t;\ta\t=\tb ; c=d '), 'allow at a.com'],
    ['other white space is invalid', issue('letsencrypt.org\u2003'), 'deny at a.com'],
    ['a line break is invalid', issue('letsencrypt.org\n'), 'deny at a.com'],
    ['labels start and end with a letter or digit', issue('letsencrypt-.org'), 'deny at a.com'],
    ['a parameter’s value may contain =', issue('letsencrypt.org;a=b=c='), 'allow at a.com'],
    ['and may be empty', issue('letsencrypt.org;a='), 'allow at a.com'],
    ['but not contain a blank', issue('letsencrypt.org;a=b c'), 'deny at a.com'],
    ['or non-ASCII characters', issue('letsencrypt.org;a=bü'), 'deny at a.com'],
    ['an empty value authorizes no CA', issue(''), 'deny at a.com'],
    ['nor does a lone semicolon', issue(' ; '), 'deny at a.com'],
    ['nor do parameters without an issuer', issue('; policy=ev'), 'deny at a.com'],
    ['a malformed value still forbids', issue('%%%%%'), 'deny at a.com'],
    ['and does not affect another record', issue('%%%%%', 'letsencrypt.org'), 'allow at a.com'],
    [
      'the CA rejects a hyphen in a parameter’s tag',
      issue('letsencrypt.org;a-b=c'),
      'deny at a.com',
      'allow',
    ],
    ['an underscore there is always invalid', issue('letsencrypt.org;a_b=c'), 'deny at a.com'],
    ['a semicolon may end the issuer', issue('letsencrypt.org;'), 'allow at a.com'],
    ['but not the parameters', issue('letsencrypt.org;a=b;'), 'deny at a.com'],
    ['and two may not be adjacent', issue('letsencrypt.org;;'), 'deny at a.com'],
    ['a parameter needs a value', issue('letsencrypt.org;a'), 'deny at a.com'],
    [
      'unknown parameters are ignored',
      issue('letsencrypt.org;cansignhttpexchanges=yes'),
      'allow at a.com',
    ],
    [
      'the CA compares its name case-sensitively',
      issue('LetsEncrypt.org'),
      'deny at a.com',
      'allow',
    ],
    ['a trailing dot is malformed', issue('letsencrypt.org.'), 'deny at a.com'],
  ]);
});

describe('account and method', () => {
  const ourRecord = (...parameters: string[]): Zone => ({
    'a.com': parameters.map((one) => `0 issue letsencrypt.org; ${one}`),
  });
  hold('a.com', [
    ['our account is allowed', ourRecord(`accounturi=${account}`), 'allow at a.com'],
    ['another account is denied', ourRecord(`accounturi=${account}4`), 'deny at a.com'],
    [
      'accounts are compared exactly',
      ourRecord('accounturi=HTTPS://acme.example/acct/123'),
      'deny at a.com',
    ],
    [
      'two in one record never match',
      ourRecord(`accounturi=${account};accounturi=${account}`),
      'deny at a.com',
    ],
    ['an empty one does not match', ourRecord('accounturi='), 'deny at a.com'],
    [
      'two records are two permissions',
      ourRecord('accounturi=x', `accounturi=${account}`),
      'allow at a.com',
    ],
    ['our method is allowed', ourRecord('validationmethods=dns-01,http-01'), 'allow at a.com'],
    ['another one is denied', ourRecord('validationmethods=dns-01,tls-alpn-01'), 'deny at a.com'],
    [
      'a CA-specific method is not ours',
      ourRecord('validationmethods=ca-http-01'),
      'deny at a.com',
    ],
    ['an empty list allows no method', ourRecord('validationmethods='), 'deny at a.com'],
    [
      'a malformed name invalidates the list',
      ourRecord('validationmethods=http-01,a_b'),
      'deny at a.com',
    ],
    ['and so does an empty one', ourRecord('validationmethods=http-01,'), 'deny at a.com'],
    ['unknown names are skipped', ourRecord('validationmethods=foo-99,http-01'), 'allow at a.com'],
    [
      'two lists never match',
      ourRecord('validationmethods=http-01;validationmethods=http-01'),
      'deny at a.com',
    ],
    [
      'both must match in the same record',
      ourRecord(
        `accounturi=${account};validationmethods=dns-01`,
        'accounturi=x;validationmethods=http-01',
      ),
      'deny at a.com',
    ],
  ]);
});
