/** Who owns the decisive CAA records, and where to repair them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Finding } from '../../../src/core/diagnosis/findings.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { CaaLevel, Observation } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  nodata,
  observed,
  records,
  refused,
  server,
  servfail,
  target,
  timeout,
} from '../support/observations.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const right = server({ cname: records(target) });
const rightApex = server({ a: records('192.0.2.1', '192.0.2.2') });
const forbidding = records({ flags: 0, tag: 'issue', value: 'ca.com' });

function diagnosed(hostname: string, caa: readonly CaaLevel[], rest: Partial<Observation> = {}) {
  const servers = [hostname === SUB ? right : rightApex] as const;
  return diagnose(observed(hostname, servers, { caa, ...rest }), expectedFor(hostname)).findings[0];
}

type Place = Partial<Extract<Finding, { code: 'caa_blocks' | 'caa_unknown' }>>;
type Row = readonly [
  what: string,
  hostname: string,
  level: Omit<CaaLevel, 'answer'>,
  place: Pick<Place, 'publishedAt' | 'ours'>,
  action: string,
];

const rows: readonly Row[] = [
  [
    'our own target',
    SUB,
    { name: SUB, publishedAt: target },
    { publishedAt: target, ours: true },
    'Nothing for you to do',
  ],
  [
    'the hostname itself, for our target',
    SUB,
    { name: SUB },
    { ours: true },
    'Nothing for you to do',
  ],
  [
    'the alias of our target',
    SUB,
    { name: SUB, publishedAt: 'lb.cloud.net' },
    { publishedAt: 'lb.cloud.net', ours: true },
    'Nothing for you to do',
  ],
  [
    'our target behind the apex',
    APEX,
    { name: APEX, publishedAt: target },
    { publishedAt: target, ours: true },
    'Nothing for you to do',
  ],
  ['the parent domain', SUB, { name: APEX }, {}, 'example.com'],
  ['the apex itself', APEX, { name: APEX }, {}, 'example.com'],
  [
    'the alias of the parent domain',
    SUB,
    { name: APEX, publishedAt: 'shop.other.net' },
    { publishedAt: 'shop.other.net' },
    'shop.other.net',
  ],
];

const below = { name: SUB, answer: nodata };
const levelsOf = (level: Omit<CaaLevel, 'answer'>, answer: CaaLevel['answer']) =>
  level.name === SUB ? [{ ...level, answer }] : [below, { ...level, answer }];

describe('the decisive CAA records', () => {
  it.each(rows)('can be those of %s', (_, hostname, level, place, action) => {
    const finding = diagnosed(hostname, levelsOf(level, forbidding));
    expect(finding).toMatchObject({ code: 'caa_blocks', foundAt: level.name, ...place });
    expect(placeOf(finding)).toEqual(place);
    expectRepair(finding, place.ours ? 'platform' : 'customer', action);
  });

  it.each(rows)('can be unreadable at %s', (_, hostname, level, place, action) => {
    const finding = diagnosed(hostname, levelsOf(level, timeout));
    expect(finding).toMatchObject({ code: 'caa_unknown', name: level.name });
    expect(placeOf(finding)).toEqual(place);
    expectRepair(finding, place.ours ? 'platform' : 'dns_provider', action);
  });

  it('are those of the apex when the hostname is a zone', () => {
    const delegation = {
      kind: 'delegated',
      zone: SUB,
      parent: APEX,
      atParent: ['ns1'],
      atZone: null,
      ttlSeconds: 60,
    } as const;
    const observation = observed(SUB, [rightApex], {
      delegation,
      caa: [{ name: SUB, answer: forbidding }],
    });
    expect(placeOf(diagnose(observation, expectedFor(SUB)).findings[0])).toEqual({});
  });
});

describe('a CAA query that our resolvers failed', () => {
  const recursive = { view: 'recursive', whyRecursive: 'configured' } as const;
  const registry = [below, { name: APEX, answer: nodata }, { name: 'com', answer: servfail }];

  it.each([{}, recursive])('is our problem for a registry’s name: %j', (rest) => {
    const finding = diagnosed(SUB, registry, rest);
    expect(finding).toMatchObject({ code: 'caa_unknown', name: 'com', asked: 'registry' });
    expectRepair(finding, 'platform', 'Nothing for you to do: com belongs to a registry');
  });

  it('is our problem when they refuse to answer', () => {
    const finding = diagnosed(SUB, levelsOf({ name: APEX }, refused), recursive);
    expectRepair(finding, 'platform', 'our resolvers could not read it');
  });

  it.each([servfail, timeout])('can be the provider’s if a zone exists: $kind', (answer) => {
    const finding = diagnosed(SUB, levelsOf({ name: APEX }, answer), recursive);
    expectRepair(finding, 'dns_provider', 'Nothing to change yet');
    if (finding === undefined) throw new Error('no finding');
    expect(explain(finding).found).toContain('example.com (from our resolvers): ');
  });

  it.each([servfail, refused, timeout])('is the provider’s at its own servers: $kind', (answer) => {
    const finding = diagnosed(SUB, levelsOf({ name: APEX }, answer));
    expect(finding).not.toHaveProperty('asked');
    expectRepair(finding, 'dns_provider', 'Ask the DNS provider of example.com');
  });
});

function placeOf(finding: Finding | undefined) {
  const { publishedAt, ours } = { publishedAt: undefined, ours: undefined, ...finding };
  return {
    ...(publishedAt === undefined ? {} : { publishedAt }),
    ...(ours === undefined ? {} : { ours }),
  };
}

function expectRepair(finding: Finding | undefined, actor: string, action: string) {
  if (finding === undefined) throw new Error('no finding');
  const said = explain(finding);
  expect(said.actor).toBe(actor);
  expect(said.action).toContain(action);
  if (actor === 'platform') expect(said.action).not.toMatch(/Add this|Ask the DNS/);
}

describe('the suggested record keeps the customer’s own policy', () => {
  const account = 'https://acme.example/acct/1';
  const ca = {
    issuerDomains: ['letsencrypt.org'],
    accountUri: account,
    method: 'http-01',
  } as const;
  const expected = { ...expectedFor(SUB), ca };
  const ours = `letsencrypt.org; accounturi=${account}`;
  const set = (...values: readonly string[]) => {
    const [first, ...rest] = values.map((value) => ({ flags: 0, tag: 'issue', value }));
    const answer = first === undefined ? nodata : records(first, ...rest);
    return observed(SUB, [right], { caa: [below, { name: APEX, answer }] });
  };
  const policies: readonly (readonly [value: string, toAdd: string])[] = [
    ['ca.com', 'letsencrypt.org'],
    ['letsencrypt.org; accounturi=https://acme.example/acct/2', ours],
    ['letsencrypt.org; validationmethods=dns-01', 'letsencrypt.org; validationmethods=http-01'],
    [
      'letsencrypt.org; accounturi=https://acme.example/acct/2; validationmethods=dns-01',
      `${ours}; validationmethods=http-01`,
    ],
  ];
  it.each(policies)('beside %s: %s', (value, toAdd) => {
    const [finding] = diagnose(set(value), expected).findings;
    expect(finding).toMatchObject({ code: 'caa_blocks', toAdd: `0 issue "${toAdd}"` });
    expect(diagnose(set(value, toAdd), expected).verdict).toBe('right');
    if (finding === undefined) return;
    const bare =
      toAdd === 'letsencrypt.org'
        ? ''
        : ' – or, for any account and method: 0 issue "letsencrypt.org"';
    expect(explain(finding).action).toContain(`ones: 0 issue "${toAdd}"${bare}`);
  });

  it('is sufficient beside any records, unless one has to be removed', () => {
    const part = fc.constantFrom(
      `accounturi=${account}`,
      'accounturi=x',
      'accounturi=',
      'validationmethods=dns-01',
      'validationmethods=http-01',
      'a=b',
      'a_b',
    );
    const issuer = fc.constantFrom('letsencrypt.org', 'LetsEncrypt.org', 'ca.com', '');
    const value = fc
      .tuple(issuer, fc.array(part, { maxLength: 3 }))
      .map(([name, parts]) => [name, ...parts].join('; '));
    const values = fc.array(value, { minLength: 1, maxLength: 3 });
    const known = fc.constantFrom(account, null, 'https://a/;b', 'https://a/"\\b');
    fc.assert(
      fc.property(values, known, (there, accountUri) => {
        const asked = { ...expected, ca: { ...ca, accountUri } };
        const [finding] = diagnose(set(...there), asked).findings;
        if (finding?.code !== 'caa_blocks') return;
        const [, toAdd = ''] = /^0 issue "(.*)"$/.exec(finding.toAdd) ?? [];
        expect(diagnose(set(...there, toAdd), asked).verdict).toBe('right');
      }),
    );
  });

  it("as the bare one when no record can hold our account's URI", () => {
    const odd = { ...expected, ca: { ...ca, accountUri: 'https://a/;b' } };
    const [finding] = diagnose(set('letsencrypt.org; accounturi=x'), odd).findings;
    expect(finding).toMatchObject({ toAdd: '0 issue "letsencrypt.org"' });
  });

  it('names both when account and method forbid', () => {
    const both = set('letsencrypt.org; accounturi=x; validationmethods=dns-01');
    const [finding] = diagnose(both, expected).findings;
    expect(finding).toMatchObject({ reason: 'other_account', method: 'http-01' });
    if (finding === undefined) return;
    expect(explain(finding).summary).toContain('http-01');
    const [one] = diagnose(set('letsencrypt.org; accounturi=x'), expected).findings;
    expect(one).not.toHaveProperty('method');
  });
});
