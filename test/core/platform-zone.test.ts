import { describe, expect, it } from 'vitest';
import { evaluateCaa } from '../../src/core/diagnosis/caa/caa.ts';
import {
  doubtsAbout,
  inMasterFile,
  type PlatformZoneSettings,
  platformZone,
} from '../../src/core/names/platform-zone.ts';
import { caaRecord, levelsIn } from './support/caa-zone.ts';

const settings: PlatformZoneSettings = {
  platformDomain: 'edge.example.net',
  addresses: ['203.0.113.10', '2001:db8::10'],
  issuerDomains: ['ca.example'],
  fallbackIssuerDomains: [],
  ttlSeconds: 300,
  contact: null,
  parameters: [],
};

const recordsOf = (changed: Partial<PlatformZoneSettings>) =>
  platformZone({ ...settings, ...changed }).map(({ type, data }) => `${type} ${data}`);

const wild = 'CAA 0 issuewild ";"';

type Row = readonly [what: string, Partial<PlatformZoneSettings>, readonly string[]];
const rows: readonly Row[] = [
  [
    'addresses of both families and the permitted CAs',
    {},
    ['A 203.0.113.10', 'AAAA 2001:db8::10', 'CAA 0 issue "ca.example"', wild],
  ],
  [
    'IPv4 before IPv6, otherwise in the order given',
    { addresses: ['2001:db8::2', '203.0.113.9', '2001:db8::1', '203.0.113.1'] },
    [
      'A 203.0.113.9',
      'A 203.0.113.1',
      'AAAA 2001:db8::2',
      'AAAA 2001:db8::1',
      'CAA 0 issue "ca.example"',
      wild,
    ],
  ],
  [
    'one record for an address in several notations',
    { addresses: ['203.0.113.10', '203.0.113.10', '2001:DB8:0::10', '2001:db8::10'] },
    ['A 203.0.113.10', 'AAAA 2001:db8::10', 'CAA 0 issue "ca.example"', wild],
  ],
  [
    'one record per issuer domain',
    { addresses: ['203.0.113.10'], issuerDomains: ['a.example', 'b.example', 'a.example'] },
    ['A 203.0.113.10', 'CAA 0 issue "a.example"', 'CAA 0 issue "b.example"', wild],
  ],
  [
    'the fallback CA with its own account',
    {
      addresses: ['203.0.113.10'],
      fallbackIssuerDomains: ['second.example', 'ca.example'],
      parameters: [
        { tag: 'accounturi', value: 'https://ca.example/acct/1' },
        { tag: 'validationmethods', value: 'http-01' },
      ],
    },
    [
      'A 203.0.113.10',
      'CAA 0 issue "ca.example; accounturi=https://ca.example/acct/1; validationmethods=http-01"',
      'CAA 0 issue "second.example; validationmethods=http-01"',
      wild,
    ],
  ],
  [
    'a contact for violations',
    { addresses: ['203.0.113.10'], contact: "o'ps@example.net" },
    ['A 203.0.113.10', 'CAA 0 issue "ca.example"', wild, 'CAA 0 iodef "mailto:o\'ps@example.net"'],
  ],
  [
    'one account and one method only',
    {
      addresses: ['203.0.113.10'],
      parameters: [
        { tag: 'accounturi', value: 'https://ca.example/acct/1' },
        { tag: 'validationmethods', value: 'http-01' },
      ],
    },
    [
      'A 203.0.113.10',
      'CAA 0 issue "ca.example; accounturi=https://ca.example/acct/1; validationmethods=http-01"',
      wild,
    ],
  ],
];

describe('the records that the platform publishes', () => {
  it.each(rows)('contain %s', (_what, changed, expected) => {
    expect(recordsOf(changed)).toEqual(expected);
  });

  it('are all at the wildcard, as any other record would hide it', () => {
    const owners = platformZone(settings).map(({ name, ttl }) => `${name} ${ttl}`);
    expect([...new Set(owners)]).toEqual(['*.edge.example.net. 300']);
  });

  it('are lines without $ORIGIN or $TTL', () => {
    expect(inMasterFile(platformZone(settings))).toBe(
      [
        '*.edge.example.net.  300  IN  A     203.0.113.10',
        '*.edge.example.net.  300  IN  AAAA  2001:db8::10',
        '*.edge.example.net.  300  IN  CAA   0 issue "ca.example"',
        '*.edge.example.net.  300  IN  CAA   0 issuewild ";"',
        '',
      ].join('\n'),
    );
  });
});

describe('the CAA set that the platform publishes', () => {
  const account = 'https://ca.example/acct/1';
  const ours = { issuerDomains: ['ca.example'], accountUri: account, method: 'http-01' } as const;
  const narrowed = [
    { tag: 'accounturi', value: account },
    { tag: 'validationmethods', value: 'http-01' },
  ];
  /** As resolved through a customer's CNAME; the customer's own set forbids every CA. */
  const kindFor = (ca: object, { wildcard = false, parameters = narrowed } = {}) => {
    const records = platformZone({ ...settings, parameters }).flatMap(({ type, data }) =>
      type === 'CAA' ? [caaRecord(data.replaceAll('"', ''))] : [],
    );
    const zone = {
      'shop.test': [caaRecord('0 issue ;')],
      'docs.shop.test': { cname: 'target' },
      target: records,
    };
    return evaluateCaa(levelsIn(zone, 'docs.shop.test'), { ...ours, ...ca }, { wildcard }).kind;
  };

  it.each([
    ['permits our CA', 'allow', {}, {}],
    ['permits no other CA', 'deny', { issuerDomains: ['other.example'] }, {}],
    ['permits no wildcard', 'deny', {}, { wildcard: true }],
    ['permits no other account', 'deny', { accountUri: 'https://ca.example/acct/2' }, {}],
    ['permits no other method', 'deny', { method: 'dns-01' }, {}],
    [
      'permits any account if none is named',
      'allow',
      { accountUri: 'https://ca.example/acct/2' },
      { parameters: [] },
    ],
  ] as const)('%s', (_what, kind, ca, asked) => {
    expect(kindFor(ca, { ...asked, parameters: 'parameters' in asked ? [] : narrowed })).toBe(kind);
  });
});

describe("a warning about the platform's settings", () => {
  it.each([
    [['1.1.1.1', '2606:4700::1'], []],
    [
      ['10.0.0.5', '1.1.1.1'],
      [
        '10.0.0.5 is not a public address (private): visitors and certificate authorities cannot reach it.',
      ],
    ],
    [
      ['2606:4700::1'],
      ['There is no IPv4 address: visitors without IPv6 cannot reach any domain.'],
    ],
  ])('for the addresses %j is %j', (addresses, doubts) => {
    expect(doubtsAbout({ ...settings, addresses })).toEqual(doubts);
  });
});
