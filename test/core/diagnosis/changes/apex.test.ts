import { describe, expect, it, test } from 'vitest';
import type { Observation, ServerView } from '../../../../src/core/diagnosis/observation.ts';
import { providerRules } from '../../../../src/core/diagnosis/providers.ts';
import { nothingNearby, records, server, target } from '../../support/observations.ts';
import {
  APEX,
  at,
  changesAt,
  cloudflare,
  easydns,
  godaddy,
  inShort,
  namecheap,
} from './support.ts';

const ours = { a: records('192.0.2.1', '192.0.2.2'), aaaa: records('2001:db8::1') };
const parked = { a: records('34.102.136.180') };

/** docs/understand/providers.md has the sources. */
const emptyAtApex = [
  'Amazon Route 53',
  'OVHcloud',
  'Wix',
  'DNS Made Easy',
  'Constellix',
  'Name.com',
];

type Row = readonly [
  what: string,
  servers: readonly [ServerView, ...ServerView[]],
  rest: Partial<Observation>,
  expected: readonly string[],
];

describe('an apex', () => {
  const rows: readonly Row[] = [
    [
      'gets an ALIAS where the provider is unknown',
      [server()],
      {},
      [`add ALIAS @ ${target}: to_do (ns1 to_do)`],
    ],
    [
      'gets our addresses at GoDaddy, which has no ALIAS',
      [server()],
      godaddy,
      [
        'add A @ 192.0.2.1: to_do (ns1 to_do)',
        'add A @ 192.0.2.2: to_do (ns1 to_do)',
        'add AAAA @ 2001:db8::1: to_do (ns1 to_do)',
      ],
    ],
    [
      'loses the parking page at GoDaddy',
      [
        server({ server: 'ns51', a: records('34.102.136.180', '192.0.2.1') }),
        server({ server: 'ns52', ...parked }),
      ],
      godaddy,
      [
        'delete A @ 34.102.136.180: to_do (ns51 to_do, ns52 to_do)',
        'add A @ 192.0.2.1: spreading (ns51 done, ns52 to_do)',
        'add A @ 192.0.2.2: to_do (ns51 to_do, ns52 to_do)',
        'add AAAA @ 2001:db8::1: to_do (ns51 to_do, ns52 to_do)',
      ],
    ],
    [
      'has one of our addresses at GoDaddy, which is enough',
      [server({ a: records('192.0.2.1') })],
      godaddy,
      ['keep A @ 192.0.2.1: done (ns1 done)'],
    ],
    [
      'gets a CNAME at Cloudflare',
      [server()],
      cloudflare,
      [`add CNAME @ ${target}: to_do (ns1 to_do)`],
    ],
    [
      'gets an ALIAS at Namecheap',
      [server()],
      namecheap,
      [`add ALIAS @ ${target}: to_do (ns1 to_do)`],
    ],
    [
      'gets an ANAME at easyDNS',
      [server()],
      easydns,
      [`add ANAME @ ${target}.: to_do (ns1 to_do)`],
    ],
    [
      'has the addresses of its ALIAS',
      [server(ours)],
      namecheap,
      [`keep ALIAS @ ${target}: done (ns1 done)`],
    ],
    [
      'has other addresses where an ALIAS can make them',
      [server(parked)],
      namecheap,
      ['delete A @ 34.102.136.180: to_do (ns1 to_do)', `add ALIAS @ ${target}: to_do (ns1 to_do)`],
    ],
    [
      'has another address beside ours',
      [server({ a: records('192.0.2.1', '34.102.136.180') })],
      namecheap,
      ['delete A @ 34.102.136.180: to_do (ns1 to_do)', `add ALIAS @ ${target}: done (ns1 done)`],
    ],
    [
      'has a CNAME on the wire',
      [server({ cname: records(target) })],
      {},
      [`delete CNAME @ ${target}: to_do (ns1 to_do)`, `add ALIAS @ ${target}: to_do (ns1 to_do)`],
    ],
    [
      'cannot be compared while our own addresses are unknown',
      [server(parked)],
      { ...godaddy, targetAddresses: [] },
      [`add ALIAS @ ${target}: unknown (ns1 unknown)`],
    ],
    [
      'has an HTTPS record that leads elsewhere',
      [server(ours)],
      {
        nearby: {
          ...nothingNearby,
          https: records({
            priority: 1,
            target: '.',
            port: null,
            hints: ['203.0.113.9'],
            ech: false,
          }),
        },
      },
      [
        `add ALIAS @ ${target}: done (ns1 done)`,
        'delete HTTPS @ 1 . ipv4hint=203.0.113.9: to_do (ns1 to_do)',
      ],
    ],
  ];
  it.each(rows)('%s', (_, servers, rest, expected) => {
    expect(changesAt(APEX, servers, rest).map(inShort)).toEqual(expected);
  });

  test('notes say what an address can come from, and what the type is called', () => {
    const [deletion] = changesAt(APEX, [server(parked)], namecheap);
    expect(deletion?.note).toContain('an ALIAS record makes this address');
    expect(changesAt(APEX, [server(parked)], godaddy)[0]).not.toHaveProperty('note');
    expect(changesAt(APEX, [server()])[0]?.note).toContain('ANAME or CNAME flattening');
    expect(changesAt(APEX, [server()], cloudflare)[0]?.note).toContain('DNS only');
  });

  it.each(providerRules.map((rule) => [rule.name, rule] as const))(
    'has entries that the form of %s takes',
    (name, { apex, suffixes }) => {
      const servers = [1, 2].map((number) => `ns${number}.${suffixes[0]}`);
      const changes = changesAt(APEX, [server()], at(servers));
      const expected = { ALIAS: ['ALIAS'], ANAME: ['ANAME'], 'CNAME flattening': ['CNAME'] };
      const types = apex === null ? ['A', 'A', 'AAAA'] : expected[apex];
      expect(changes.map(({ type }) => type)).toEqual(name === 'Hostinger' ? ['CNAME'] : types);
      const isEmpty = emptyAtApex.includes(name);
      expect(changes.every((change) => change.name === (isEmpty ? '' : '@'))).toBe(true);
    },
  );

  test('a value ends with a dot where the provider would append the domain', () => {
    const easy = changesAt(APEX, [server()], easydns);
    expect(easy[0]?.value).toBe(`${target}.`);
  });
});
