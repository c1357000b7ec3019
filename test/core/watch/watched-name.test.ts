import { describe, expect, it } from 'vitest';
import type { Answer, ServerView } from '../../../src/core/diagnosis/observation.ts';
import {
  digestOf,
  formatWatchedServers,
  parseWatchedServers,
  watchedServersOf,
} from '../../../src/core/watch/watched-name.ts';
import { anObservation } from '../../support/builders.ts';

const records = (...given: [string, ...string[]]): Answer<string> => ({
  kind: 'records',
  records: given,
  ttlSeconds: 300,
});
const nodata: Answer<string> = { kind: 'nodata' };
const nxdomain: Answer<string> = { kind: 'nxdomain' };
const alias = { rcode: 0, cname: records('shop.example.net'), a: nodata };
const addresses = { rcode: 0, cname: nodata, a: records('192.0.2.1', '192.0.2.2') };

describe('a digest', () => {
  it.each([
    [
      'the same addresses in another order',
      addresses,
      { ...addresses, a: records('192.0.2.2', '192.0.2.1') },
    ],
    [
      'the same alias with another TTL',
      alias,
      { ...alias, cname: { ...alias.cname, ttlSeconds: 5 } },
    ],
    [
      'an alias that hides beside addresses',
      addresses,
      { ...addresses, cname: records('x.example') },
    ],
  ])('is the same for %s', (_, one, other) => {
    expect(digestOf(one)).toBe(digestOf(other));
    expect(digestOf(one)).not.toBeNull();
  });

  it('is another for everything that a check would see', () => {
    const all = [
      alias,
      { ...alias, cname: records('shop.example.org') },
      addresses,
      { ...addresses, a: records('192.0.2.1') },
      { rcode: 0, cname: nodata, a: nodata },
      { rcode: 3, cname: nxdomain, a: nxdomain },
      { rcode: 3, ...{ cname: records('shop.example.net'), a: nodata } },
    ].map(digestOf);
    expect(new Set(all).size).toBe(all.length);
  });

  it.each<Answer<string>['kind']>(['servfail', 'refused', 'timeout'])('is none of a %s', (kind) => {
    const failed = { kind } as Answer<string>;
    expect(digestOf({ rcode: 0, cname: nodata, a: failed })).toBeNull();
    expect(digestOf({ rcode: 0, cname: failed, a: nodata })).toBeNull();
  });
});

describe('the servers of an observation', () => {
  const observation = anObservation({});
  const [view] = observation.servers as readonly [ServerView];
  const answering = { ...view, state: 'answers', address: '192.0.2.53', ...alias } as const;

  it('are those that answered', () => {
    const silent = { ...answering, state: 'timeout', rcode: null } as const;
    const nowhere = { ...answering, address: null };
    const seen = {
      ...observation,
      view: 'authoritative',
      servers: [silent, answering, nowhere],
    } as const;
    expect(watchedServersOf(seen)).toEqual([
      { server: answering.server, address: '192.0.2.53', digest: digestOf(alias) },
    ]);
  });

  it('are none where resolvers were asked', () => {
    expect(watchedServersOf({ ...observation, view: 'recursive', servers: [answering] })).toEqual(
      [],
    );
  });
});

describe('the stored form', () => {
  it('keeps servers, addresses and digests', () => {
    const servers = [
      { server: 'ns1.example.net', address: '192.0.2.1', digest: 0 },
      { server: 'ns2.example.net', address: '2001:db8::1', digest: 0xffff_ffff },
    ];
    expect(parseWatchedServers(formatWatchedServers(servers))).toEqual(servers);
    expect(formatWatchedServers(servers)).toBe(
      'ns1.example.net 192.0.2.1 0;ns2.example.net 2001:db8::1 ffffffff',
    );
  });

  it.each([
    '',
    ';',
    'ns1.example.net',
    'ns1.example.net 192.0.2.1',
    'ns1.example.net 192.0.2.1 zz',
  ])('that cannot be read, %j, has no servers', (text) =>
    expect(parseWatchedServers(text)).toEqual([]),
  );
});
