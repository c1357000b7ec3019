/** Faults of name servers, registries and resolvers, and the findings they cause. */
import { RESOLVER } from './internet.ts';
import { RIGHT, type Row, shop, twoServers } from './row.ts';

const both = twoServers([RIGHT], [RIGHT]);
const silent = { ...both, timeoutMs: 150 };
const badSignature = { code: 7, text: 'signature expired' };

/** Faults of one server beside a healthy one, and the state they map to. */
const lame = [
  ['refused', 'refused'],
  ['servfail', 'servfail'],
  ['not_authoritative', 'not_authoritative'],
  ['upward_referral', 'not_authoritative'],
  ['garbage', 'malformed'],
] as const;

const lameRows = lame.map(
  ([fault, outcome]): Row => ({
    title: `has a name server with the fault ${fault}`,
    world: both,
    fails: [['ns2.shop.test', fault]],
    verdict: 'right',
    codes: ['name_server_lame'],
    evidence: { zone: 'shop.test', servers: [{ server: 'ns2.shop.test', outcome }] },
    words: ['ns2.shop.test', 'shop.test'],
  }),
);

export const serverRows: readonly Row[] = [
  ...lameRows,
  {
    title: 'has the name servers of a parking page',
    world: { zones: { 'shop.test': { 'ns1.parkingcrew.net': ['* A 198.51.100.7'] } } },
    verdict: 'wrong',
    codes: ['domain_parked'],
    evidence: { domain: 'shop.test', kind: 'parked', by: 'ParkingCrew' },
    words: ['shop.test is parked', 'replace these with the name servers of the provider'],
  },
  {
    title: 'has a silent name server',
    world: silent,
    fails: [['ns2.shop.test', 'timeout']],
    verdict: 'right',
    codes: ['name_server_unreachable'],
    evidence: { zone: 'shop.test', servers: [{ server: 'ns2.shop.test', outcome: 'timeout' }] },
    words: ['ns2.shop.test'],
  },
  {
    title: 'has a name server without an address',
    world: {
      ...shop([RIGHT]),
      atParent: { 'shop.test': ['ns1', 'ns9'] },
      atZone: { 'shop.test': ['ns1', 'ns9'] },
    },
    verdict: 'right',
    codes: ['name_server_unreachable'],
    evidence: { servers: [{ server: 'ns9.shop.test', outcome: 'no_address' }] },
    words: ['ns9.shop.test'],
  },
  {
    title: 'has an old record at its second name server',
    world: twoServers([RIGHT], ['docs A 198.51.100.7']),
    verdict: 'wrong',
    codes: ['name_servers_disagree'],
    evidence: {
      right: ['ns1.shop.test'],
      others: [{ server: 'ns2.shop.test', shows: 'A 198.51.100.7' }],
    },
    words: ['ns1.shop.test', 'ns2.shop.test', '198.51.100.7'],
  },
  {
    title: 'has no record yet at its first name server',
    world: twoServers([], [RIGHT]),
    verdict: 'wrong',
    codes: ['name_servers_disagree'],
    evidence: {
      right: ['ns2.shop.test'],
      others: [{ server: 'ns1.shop.test', shows: 'no such name' }],
    },
    words: ['ns1.shop.test'],
  },
  {
    title: 'names other servers than the registry does',
    world: {
      zones: { 'shop.test': { ns1: [RIGHT], 'ns.old.test': [RIGHT], 'ns.new.test': [RIGHT] } },
      atParent: { 'shop.test': ['ns1', 'ns.old.test'] },
      atZone: { 'shop.test': ['ns1', 'ns.new.test'] },
    },
    verdict: 'right',
    codes: ['delegation_mismatch'],
    evidence: {
      zone: 'shop.test',
      parent: 'test',
      onlyAtParent: ['ns.old.test'],
      onlyAtZone: ['ns.new.test'],
    },
    words: ['ns.old.test', 'ns.new.test'],
  },
  {
    title: 'is not registered',
    hostname: 'docs.unsold.test',
    world: [RIGHT],
    verdict: 'wrong',
    codes: ['domain_unregistered'],
    evidence: { domain: 'unsold.test', registry: 'test' },
    words: ['unsold.test'],
  },
  {
    title: 'has invalid signatures, as resolvers report',
    world: shop([RIGHT]),
    fails: [['resolver', { kind: 'bogus', errors: [badSignature] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    evidence: { zone: 'shop.test', errors: [badSignature] },
    words: ['shop.test', 'signature expired'],
  },
  {
    title: 'has invalid signatures, and resolvers give no reason',
    world: shop([RIGHT]),
    fails: [['resolver', { kind: 'bogus', errors: [] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    evidence: { zone: 'shop.test', errors: [] },
    words: ['shop.test', 'DNSSEC'],
  },
  {
    title: 'has only silent name servers',
    world: silent,
    fails: [
      ['ns1.shop.test', 'timeout'],
      ['ns2.shop.test', 'timeout'],
    ],
    verdict: 'unknown',
    codes: ['dns_unknown'],
    evidence: {
      servers: [
        { server: 'ns1.shop.test', outcome: 'timeout' },
        { server: 'ns2.shop.test', outcome: 'timeout' },
      ],
    },
    words: ['ns1.shop.test', 'ns2.shop.test'],
  },
  {
    title: 'was deleted at all of its name servers',
    world: both,
    fails: [
      ['ns1.shop.test', 'refused'],
      ['ns2.shop.test', 'not_authoritative'],
    ],
    verdict: 'unknown',
    codes: ['name_server_lame', 'dns_unknown'],
    evidence: {
      servers: [
        { server: 'ns1.shop.test', outcome: 'refused' },
        { server: 'ns2.shop.test', outcome: 'not_authoritative' },
      ],
      all: true,
    },
    words: ['None of the name servers listed for shop.test serves it', 'registrar'],
  },
  {
    title: 'has no record at its second provider',
    world: { zones: { 'shop.test': { 'ns.old.test': [RIGHT], 'ns.new.test': [] } } },
    verdict: 'wrong',
    codes: ['name_servers_disagree'],
    evidence: { right: ['ns.old.test'] },
    words: ['Create the record at both'],
  },
  {
    title: 'is visible only through a resolver, which fails and says why',
    world: { ...shop([RIGHT]), authoritative: false },
    fails: [
      [
        'resolver',
        { kind: 'servfail', errors: [{ code: 22, text: 'at delegation shop.test' }] },
        '.shop.test',
      ],
    ],
    verdict: 'unknown',
    codes: ['dns_unknown'],
    evidence: {
      servers: [{ server: RESOLVER, outcome: 'servfail' }],
      errors: [{ code: 22, text: 'at delegation shop.test' }],
    },
    words: [RESOLVER, 'at delegation shop.test'],
  },
  {
    title: 'is correct while a resolver has a cached negative answer',
    world: shop([RIGHT]),
    fails: [['resolver', { kind: 'remembered', lines: [], ttlSeconds: 1_800 }, 'docs.shop.test']],
    verdict: 'right',
    codes: ['old_answer_cached'],
    evidence: {
      remembered: 'negative',
      resolvers: [{ server: RESOLVER, shows: 'no such name' }],
    },
    words: [RESOLVER],
  },
  {
    title: 'is correct while a resolver has the old address cached',
    world: shop([RIGHT]),
    fails: [
      [
        'resolver',
        { kind: 'remembered', lines: ['@ A 198.51.100.7'], ttlSeconds: 1_800 },
        'docs.shop.test',
      ],
    ],
    verdict: 'right',
    codes: ['old_answer_cached'],
    evidence: {
      remembered: 'positive',
      resolvers: [{ server: RESOLVER, shows: 'A 198.51.100.7' }],
    },
    words: [RESOLVER, '198.51.100.7'],
  },
];
