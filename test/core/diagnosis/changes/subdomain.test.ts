import { describe, expect, it, test } from 'vitest';
import { changesFor } from '../../../../src/core/diagnosis/changes/changes.ts';
import type { Observation, ServerView } from '../../../../src/core/diagnosis/observation.ts';
import {
  mute,
  nothingNearby,
  nxdomain,
  records,
  refused,
  server,
  target,
} from '../../support/observations.ts';
import { changesAt, cloudflare, DOCS, inShort } from './support.ts';

const ns1 = (shown: Partial<ServerView> = {}) => server({ server: 'ns1.example.com', ...shown });
const ns2 = (shown: Partial<ServerView> = {}) => server({ server: 'ns2.example.com', ...shown });
const absent = { cname: nxdomain, a: nxdomain, aaaa: nxdomain };
const right = { cname: records(target) };
const old = { a: records('151.101.1.7') };

type Servers = readonly [ServerView, ...ServerView[]];

type Row = readonly [
  what: string,
  servers: Servers,
  expected: readonly string[],
  rest: Partial<Observation> | null,
];

describe('a subdomain', () => {
  const add = `add CNAME docs ${target}`;
  const rows: readonly Row[] = [
    ['has no record', [ns1(absent), ns2(absent)], [`${add}: to_do (ns1 to_do, ns2 to_do)`], null],
    [
      'has its record',
      [ns1(right), ns2(right)],
      [`keep CNAME docs ${target}: done (ns1 done, ns2 done)`],
      null,
    ],
    [
      'has its record at one of two name servers',
      [ns1(right), ns2(absent)],
      [`${add}: spreading (ns1 done, ns2 to_do)`],
      null,
    ],
    [
      'has an old address',
      [ns1(old), ns2(old)],
      [
        'delete A docs 151.101.1.7: to_do (ns1 to_do, ns2 to_do)',
        `${add}: to_do (ns1 to_do, ns2 to_do)`,
      ],
      null,
    ],
    [
      'lost its old address at one name server, where the record is still missing',
      [ns1(absent), ns2(old)],
      [
        'delete A docs 151.101.1.7: spreading (ns1 done, ns2 to_do)',
        `${add}: to_do (ns1 to_do, ns2 to_do)`,
      ],
      null,
    ],
    [
      'has both changes at one name server and neither at the other',
      [ns1(right), ns2(old)],
      [
        'delete A docs 151.101.1.7: spreading (ns1 done, ns2 to_do)',
        `${add}: spreading (ns1 done, ns2 to_do)`,
      ],
      null,
    ],
    [
      'has addresses of both families',
      [ns1({ a: records('192.0.2.9', '151.101.1.7'), aaaa: records('2001:db8::9') })],
      [
        'delete A docs 151.101.1.7: to_do (ns1 to_do)',
        'delete A docs 192.0.2.9: to_do (ns1 to_do)',
        'delete AAAA docs 2001:db8::9: to_do (ns1 to_do)',
        `${add}: to_do (ns1 to_do)`,
      ],
      null,
    ],
    [
      'has our own address, which a subdomain must not copy',
      [ns1({ a: records('192.0.2.1') })],
      ['delete A docs 192.0.2.1: to_do (ns1 to_do)', `${add}: to_do (ns1 to_do)`],
      null,
    ],
    [
      'points to another host',
      [ns1({ cname: records('shops.elsewhere.example') })],
      [`change CNAME docs shops.elsewhere.example → ${target}: to_do (ns1 to_do)`],
      null,
    ],
    [
      'points to another host at one of two name servers',
      [ns1(right), ns2({ cname: records('shops.elsewhere.example') })],
      [`change CNAME docs shops.elsewhere.example → ${target}: spreading (ns1 done, ns2 to_do)`],
      null,
    ],
    [
      'receives mail and has a text',
      [ns1({ mx: records('10 mx.example.net'), txt: records('v=spf1 -all') })],
      [
        'delete MX docs 10 mx.example.net: to_do (ns1 to_do)',
        'delete TXT docs v=spf1 -all: to_do (ns1 to_do)',
        `${add}: to_do (ns1 to_do)`,
      ],
      null,
    ],
    [
      'has addresses of a wildcard, which stays',
      [ns1(old)],
      [`${add}: to_do (ns1 to_do)`],
      { nearby: { ...nothingNearby, sibling: { cname: nxdomain, a: records('151.101.1.7') } } },
    ],
    [
      'has the record beside an address that a wildcard has, too, so the address is its own',
      [ns1({ ...right, ...old })],
      ['delete A docs 151.101.1.7: to_do (ns1 to_do)', `${add}: done (ns1 done)`],
      { nearby: { ...nothingNearby, sibling: { cname: nxdomain, a: records('151.101.1.7') } } },
    ],
    [
      'has the alias of a wildcard, which stays',
      [ns1({ cname: records('other.example') })],
      [`${add}: to_do (ns1 to_do)`],
      { nearby: { ...nothingNearby, sibling: { cname: records('other.example'), a: nxdomain } } },
    ],
    [
      'is below a DNAME record',
      [ns1({ cname: records('docs.old.example') })],
      ['delete DNAME @ old.example: to_do (ns1 to_do)', `${add}: to_do (ns1 to_do)`],
      { nearby: { ...nothingNearby, dname: { owner: 'example.com', target: 'old.example' } } },
    ],
    [
      'has silent name servers',
      [mute({ server: 'ns1.example.com' }), mute()],
      [`${add}: unknown (ns1 unknown, ns2 unknown)`],
      null,
    ],
    [
      'has one name server that does not serve the zone',
      [ns1(absent), mute({ state: 'refused', cname: refused, a: refused, aaaa: refused })],
      [`${add}: to_do (ns1 to_do, ns2 unknown)`],
      null,
    ],
    [
      'has a name server whose two addresses differ',
      [ns1(right), ns1({ ...absent, address: '9.9.9.54' })],
      [`${add}: spreading (ns1 to_do)`],
      null,
    ],
    [
      'has a name server that was not queried',
      [ns1(right), mute({ state: 'not_asked' })],
      [`keep CNAME docs ${target}: done (ns1 done)`],
      null,
    ],
    [
      'is in a domain that is not registered',
      [ns1(absent)],
      [`${add}: unknown`],
      { delegation: { kind: 'unregistered', zone: 'example.com', parent: 'com' } },
    ],
    [
      'is behind the proxy of its provider',
      [ns1({ a: records('104.16.0.1') })],
      [`change CNAME docs ${target}: to_do (ns1 to_do)`],
      cloudflare,
    ],
    [
      'is behind a proxy that passes challenges on',
      [ns1({ a: records('104.16.0.1') })],
      [`keep CNAME docs ${target}: done (ns1 done)`],
      { ...cloudflare, proxy: [{ address: '104.16.0.1', result: 'edge', status: 200 }] },
    ],
  ];
  it.each(rows)('%s', (_, servers, expected, rest) => {
    expect(changesAt(DOCS, servers, rest ?? {}).map(inShort)).toEqual(expected);
  });

  it('has an unknown addition before its first check', () => {
    const changes = changesFor({ hostname: DOCS, target, observation: null, findings: [] });
    expect(changes.map(inShort)).toEqual([`add CNAME docs ${target}: unknown`]);
  });

  it('shows at most 12 records to delete at once', () => {
    const [first = '', ...others] = Array.from({ length: 40 }, (_, at) => `198.51.100.${at}`);
    const changes = changesAt(DOCS, [ns1({ a: records(first, ...others) })]);
    expect(changes.filter(({ verb }) => verb === 'delete')).toHaveLength(12);
  });
});

describe('what stands beside a change', () => {
  test('each server shows what it has', () => {
    const [deletion, addition] = changesAt(DOCS, [ns1(absent), ns2(old)]);
    expect(deletion?.servers).toEqual([
      { name: 'ns1.example.com', state: 'done', shows: 'no such name' },
      { name: 'ns2.example.com', state: 'to_do', shows: 'A 151.101.1.7' },
    ]);
    expect(addition?.servers.map(({ shows }) => shows)).toEqual(['no such name', 'A 151.101.1.7']);
  });

  test('a deletion has the observed TTL, and an addition the one to enter', () => {
    expect(changesAt(DOCS, [ns1(old)]).map(({ ttl }) => ttl)).toEqual([300, 3600]);
  });

  test('the name must not include the zone', () => {
    expect(changesAt(DOCS, [ns1(absent)])[0]?.note).toBe(
      'Enter only “docs” as the name: most providers add “.example.com”.',
    );
    expect(changesAt(DOCS, [ns1(absent)], cloudflare)[0]?.note).toBe(
      'Enter only “docs” as the name: Cloudflare adds “.example.com”. Set “Proxy status” to “DNS only”.',
    );
  });

  test('a record at the doubled name is mentioned', () => {
    const doubled = { name: 'docs.example.com.example.com', cname: records(target) };
    const changes = changesAt(DOCS, [ns1(absent)], { nearby: { ...nothingNearby, doubled } });
    expect(changes[0]?.note).toMatch(/docs\.example\.com\.example\.com.*“docs”/);
  });

  test('mail has to be moved before its record is deleted', () => {
    const [mail] = changesAt(DOCS, [ns1({ mx: records('10 mx.example.net') })]);
    expect(mail?.note).toContain('First move the mail');
  });

  test('a text with our target has the wrong type', () => {
    const [text] = changesAt(DOCS, [ns1({ txt: records(target) })]);
    expect(text?.note).toBe('It has our target as its value, but the wrong type.');
  });

  test('a record to keep has no note', () => {
    expect(changesAt(DOCS, [ns1(right)])[0]).not.toHaveProperty('note');
  });
});
