import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation, ServerView } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  mute,
  nxdomain,
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
const silent = mute();

/** The verdict and the codes, headline first. */
function outcome(hostname: string, servers: Observation['servers'], rest?: Partial<Observation>) {
  const { verdict, findings } = diagnose(observed(hostname, servers, rest), expectedFor(hostname));
  return [verdict, ...findings.map(({ code }) => code)];
}

type Row = readonly [what: string, servers: Observation['servers'], outcome: readonly string[]];

describe('a subdomain', () => {
  const rows: readonly Row[] = [
    ['has the CNAME', [right], ['right']],
    ['has it in capitals', [server({ cname: records(target.toUpperCase()) })], ['right']],
    [
      'has it, whatever the other answers are',
      [{ ...right, a: timeout, aaaa: servfail }],
      ['right'],
    ],
    ['has another CNAME', [server({ cname: records('other.net') })], ['wrong', 'cname_mismatch']],
    [
      'has two CNAMEs',
      [server({ cname: records(target, 'other.net') })],
      ['wrong', 'cname_mismatch'],
    ],
    [
      'does not exist',
      [server({ cname: nxdomain, a: nxdomain, aaaa: nxdomain })],
      ['wrong', 'record_missing'],
    ],
    ['has no usable record', [server()], ['wrong', 'record_missing']],
    [
      'definitely has no CNAME',
      [server({ a: timeout, aaaa: timeout })],
      ['wrong', 'record_missing'],
    ],
    ['has an A record', [server({ a: records('151.101.1.7') })], ['wrong', 'conflicting_a']],
    [
      'has an A record at a server that fails for CNAME',
      [server({ cname: timeout, a: records('151.101.1.7') })],
      ['wrong', 'conflicting_a'],
    ],
    [
      'has addresses of both families',
      [server({ a: records('151.101.1.7'), aaaa: records('2a04:4e42::7') })],
      ['wrong', 'conflicting_a', 'conflicting_aaaa'],
    ],
    [
      'has a forbidden A record beside the CNAME',
      [{ ...right, a: records('151.101.1.7') }],
      ['wrong', 'conflicting_a'],
    ],
    ['has no answer', [silent], ['unknown', 'dns_unknown']],
    ['has no answer for its CNAME', [server({ cname: refused })], ['unknown', 'dns_unknown']],
    [
      'may have a CNAME, whatever its addresses are',
      [server({ cname: timeout, a: nxdomain, aaaa: nxdomain })],
      ['unknown', 'dns_unknown'],
    ],
  ];
  it.each(rows)('%s', (_, servers, expected) => {
    expect(outcome(SUB, servers)).toEqual(expected);
  });
});

describe('an apex', () => {
  const rows: readonly Row[] = [
    ['has all our addresses', [server({ a: records('192.0.2.1', '192.0.2.2') })], ['right']],
    ['has one of them', [server({ a: records('192.0.2.2') })], ['right', 'apex_partial']],
    [
      'has one of them at each of two servers',
      [server({ a: records('192.0.2.2') }), server({ a: records('192.0.2.1') })],
      ['right'],
    ],
    [
      'has our IPv6 address only',
      [server({ aaaa: records('2001:db8::1') })],
      ['right', 'apex_partial'],
    ],
    [
      'has it in another notation',
      [server({ aaaa: records('2001:DB8:0:0::0001') })],
      ['right', 'apex_partial'],
    ],
    [
      'has a foreign address beside ours',
      [server({ a: records('192.0.2.1', '151.101.1.7') })],
      ['wrong', 'apex_mixed'],
    ],
    [
      'has a foreign address beside ours, and only foreign IPv6',
      [server({ a: records('192.0.2.1', '151.101.1.7'), aaaa: records('2a04:4e42::7') })],
      ['wrong', 'apex_mixed'],
    ],
    [
      'has a foreign IPv6 address',
      [server({ a: records('192.0.2.1'), aaaa: records('2a04:4e42::7') })],
      ['wrong', 'conflicting_aaaa'],
    ],
    [
      'has a foreign IPv4 address beside our IPv6 one',
      [server({ a: records('151.101.1.7'), aaaa: records('2001:db8::1') })],
      ['wrong', 'conflicting_a'],
    ],
    [
      'has foreign addresses only',
      [server({ a: records('151.101.1.7'), aaaa: records('2a04:4e42::7') })],
      ['wrong', 'apex_elsewhere'],
    ],
    ['has no address', [server()], ['wrong', 'record_missing']],
    ['points to us by a CNAME, which breaks the zone', [right], ['wrong', 'cname_at_apex']],
    [
      'points to us by a CNAME beside our addresses',
      [{ ...right, a: records('192.0.2.1', '192.0.2.2') }],
      ['wrong', 'cname_at_apex'],
    ],
    [
      'points elsewhere by a CNAME',
      [server({ cname: records('other.net') })],
      ['wrong', 'cname_at_apex'],
    ],
    [
      'has mail, which works with an ALIAS',
      [server({ mx: records('10 mx.other.net') })],
      ['wrong', 'record_missing'],
    ],
    [
      'has our A record and maybe a foreign AAAA',
      [server({ a: records('192.0.2.1'), aaaa: timeout })],
      ['unknown', 'dns_unknown'],
    ],
    ['has no A record and maybe our AAAA', [server({ aaaa: timeout })], ['unknown', 'dns_unknown']],
    [
      'has a foreign A record, whatever its AAAA is',
      [server({ a: records('151.101.1.7'), aaaa: timeout })],
      ['wrong', 'apex_elsewhere'],
    ],
    [
      'needs no answer for CNAME',
      [server({ cname: timeout, a: records('192.0.2.1', '192.0.2.2') })],
      ['right'],
    ],
  ];
  it.each(rows)('%s', (_, servers, expected) => {
    expect(outcome(APEX, servers)).toEqual(expected);
  });

  it('has no verdict while our own addresses are unknown', () => {
    const observation = observed(APEX, [server({ a: records('192.0.2.1') })], {
      targetAddresses: [],
    });
    expect(diagnose(observation, expectedFor(APEX))).toEqual({
      verdict: 'unknown',
      provider: null,
      findings: [{ code: 'dns_unknown', hostname: target, servers: [] }],
    });
    expect(outcome(APEX, [server()], { targetAddresses: [] })).toEqual(['wrong', 'record_missing']);
  });
});

describe('several servers', () => {
  const ns2 = (shown: Partial<ServerView>) => server({ server: 'ns2.example.com', ...shown });
  const lacking = ns2({});
  const rows: readonly Row[] = [
    ['agree', [right, ns2({ cname: records(target) })], ['right']],
    ['one is right and one silent', [silent, right], ['right', 'name_server_unreachable']],
    [
      'one is right and one does not serve the zone',
      [right, mute({ state: 'refused', cname: refused, a: refused, aaaa: refused })],
      ['right', 'name_server_lame'],
    ],
    ['one is right and one was not queried', [right, mute({ state: 'not_asked' })], ['right']],
    [
      'one is right and a lame one has another record',
      [right, ns2({ state: 'not_authoritative', aa: false, cname: records('other.net') })],
      ['right', 'name_server_lame'],
    ],
    [
      'one is right and one failed once but has no record',
      [right, ns2({ state: 'servfail', a: servfail })],
      ['wrong', 'name_servers_disagree', 'name_server_lame'],
    ],
    [
      'one is wrong and one silent',
      [silent, server()],
      ['wrong', 'record_missing', 'name_server_unreachable'],
    ],
    ['one is right and one lacks the record', [right, lacking], ['wrong', 'name_servers_disagree']],
    [
      'one is right and the others are wrong in different ways',
      [lacking, right, server({ cname: records('other.net') }), server({ a: records('1.1.1.1') })],
      ['wrong', 'name_servers_disagree'],
    ],
    ['all are silent', [silent, silent], ['unknown', 'dns_unknown']],
    [
      'one answers at one of its two addresses',
      [right, mute({ server: 'ns1.example.com' })],
      ['right'],
    ],
    [
      'each is wrong in a different way',
      [server(), server({ cname: records('other.net') }), server({ a: records('151.101.1.7') })],
      ['wrong', 'conflicting_a', 'cname_mismatch', 'record_missing'],
    ],
  ];
  it.each(rows)('%s', (_, servers, expected) => {
    expect(outcome(SUB, servers)).toEqual(expected);
  });

  it('are not compared when they are resolvers, which may answer from cache', () => {
    const view = { view: 'recursive', delegation: null } as const;
    expect(outcome(SUB, [right, lacking], view)).toEqual(['wrong', 'record_missing']);
    expect(outcome(SUB, [right, silent], view)).toEqual(['right']);
  });
});
