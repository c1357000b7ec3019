import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { CaaLevel, Observation, ServerView } from '../../../src/core/observation.ts';
import {
  expectedFor,
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
const silent = server({ server: 'ns2.example.com', cname: timeout, a: timeout, aaaa: servfail });

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
      'has it, whatever became of the other questions',
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
    ['has nothing of use', [server()], ['wrong', 'record_missing']],
    [
      'has certainly no CNAME',
      [server({ a: timeout, aaaa: timeout })],
      ['wrong', 'record_missing'],
    ],
    ['has an A record', [server({ a: records('203.0.113.9') })], ['wrong', 'conflicting_a']],
    [
      'has an A record at a server that will not tell its CNAME',
      [server({ cname: timeout, a: records('203.0.113.9') })],
      ['wrong', 'conflicting_a'],
    ],
    [
      'has addresses of both families',
      [server({ a: records('203.0.113.9'), aaaa: records('2001:db8::9') })],
      ['wrong', 'conflicting_a', 'conflicting_aaaa'],
    ],
    [
      'has an A record beside the CNAME, as no zone should',
      [{ ...right, a: records('203.0.113.9') }],
      ['wrong', 'conflicting_a'],
    ],
    ['is not told about', [silent], ['unknown', 'dns_unknown']],
    ['is not told about its CNAME', [server({ cname: refused })], ['unknown', 'dns_unknown']],
    [
      'may have a CNAME, whatever is said of its addresses',
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
    ['has one of them', [server({ a: records('192.0.2.2') })], ['right']],
    ['has our IPv6 address only', [server({ aaaa: records('2001:db8::1') })], ['right']],
    ['has it in another notation', [server({ aaaa: records('2001:DB8:0:0::0001') })], ['right']],
    [
      'has a foreign one beside ours',
      [server({ a: records('192.0.2.1', '203.0.113.9') })],
      ['wrong', 'conflicting_a'],
    ],
    [
      'has a foreign IPv6 address',
      [server({ a: records('192.0.2.1'), aaaa: records('2001:db8::9') })],
      ['wrong', 'conflicting_aaaa'],
    ],
    ['has none', [server()], ['wrong', 'record_missing']],
    ['leads to us by a CNAME, which it should not have', [right], ['right']],
    [
      'leads elsewhere by a CNAME',
      [server({ cname: records('other.net') })],
      ['wrong', 'cname_mismatch'],
    ],
    [
      'has our A record, and may have a foreign AAAA',
      [server({ a: records('192.0.2.1'), aaaa: timeout })],
      ['unknown', 'dns_unknown'],
    ],
    [
      'has no A record, and may have our AAAA',
      [server({ aaaa: timeout })],
      ['unknown', 'dns_unknown'],
    ],
    [
      'has a foreign A record, whatever its AAAA',
      [server({ a: records('203.0.113.9'), aaaa: timeout })],
      ['wrong', 'conflicting_a'],
    ],
    [
      'needs no answer about a CNAME',
      [server({ cname: timeout, a: records('192.0.2.1') })],
      ['right'],
    ],
  ];
  it.each(rows)('%s', (_, servers, expected) => {
    expect(outcome(APEX, servers)).toEqual(expected);
  });

  it('cannot be judged while our own addresses are not known', () => {
    const look = observed(APEX, [server({ a: records('192.0.2.1') })], { targetAddresses: [] });
    expect(diagnose(look, expectedFor(APEX))).toEqual({
      verdict: 'unknown',
      findings: [{ code: 'dns_unknown', hostname: target, servers: [] }],
    });
    expect(outcome(APEX, [server()], { targetAddresses: [] })).toEqual(['wrong', 'record_missing']);
  });
});

describe('several servers', () => {
  const rows: readonly Row[] = [
    ['agree', [right, right], ['right']],
    ['one is right and one silent', [silent, right], ['right']],
    ['one is wrong and one silent', [silent, server()], ['wrong', 'record_missing']],
    ['one is right and one wrong', [right, server()], ['wrong', 'record_missing']],
    ['all are silent', [silent, silent], ['unknown', 'dns_unknown']],
    [
      'each is wrong in its own way',
      [server(), server({ cname: records('other.net') }), server({ a: records('203.0.113.9') })],
      ['wrong', 'conflicting_a', 'cname_mismatch', 'record_missing'],
    ],
  ];
  it.each(rows)('%s', (_, servers, expected) => {
    expect(outcome(SUB, servers)).toEqual(expected);
  });
});

describe('the evidence', () => {
  function findingsOf(hostname: string, servers: Observation['servers']) {
    return diagnose(observed(hostname, servers), expectedFor(hostname)).findings;
  }
  const about = { hostname: SUB, target };
  type Evidence = readonly [what: string, servers: Observation['servers'], finding: object];
  const rows: readonly Evidence[] = [
    [
      'names every address of every server once, and which are ours',
      [server({ a: records('203.0.113.9', '192.0.2.1') }), server({ a: records('192.0.2.1') })],
      {
        code: 'conflicting_a',
        ...about,
        addresses: ['192.0.2.1', '203.0.113.9'],
        ours: ['192.0.2.1'],
      },
    ],
    [
      'names the CNAME that was found',
      [right, server({ cname: records('other.net') })],
      { code: 'cname_mismatch', ...about, found: 'other.net' },
    ],
    [
      'tells a name that does not exist',
      [server({ cname: nxdomain }), silent],
      { code: 'record_missing', ...about, seen: 'nxdomain' },
    ],
    [
      'tells a name that exists at one server at least',
      [server({ cname: nxdomain }), server()],
      { code: 'record_missing', ...about, seen: 'nodata' },
    ],
    [
      'names the servers that could not tell, and why',
      [silent, server({ cname: refused })],
      {
        code: 'dns_unknown',
        hostname: SUB,
        servers: [
          { server: 'ns1.example.com', outcome: 'refused' },
          { server: 'ns2.example.com', outcome: 'timeout' },
        ],
      },
    ],
  ];
  it.each(rows)('%s', (_, servers, finding) => {
    expect(findingsOf(SUB, servers)).toEqual([finding]);
  });

  it('stays the same when a server shuffles its answers', () => {
    const [a, b] = ['203.0.113.9', '203.0.113.10'];
    expect(findingsOf(SUB, [server({ a: records(a, b) })])).toEqual(
      findingsOf(SUB, [server({ a: records(b, a) })]),
    );
  });
});

describe('CAA', () => {
  const level = (answer: CaaLevel['answer']): CaaLevel[] => [{ name: APEX, answer }];
  const forbidding = level(records({ flags: 0, tag: 'issue', value: 'ca.com' }));
  function judged(servers: readonly [ServerView], caa: readonly CaaLevel[] | null) {
    return diagnose(observed(SUB, servers, { caa }), expectedFor(SUB));
  }

  it('that forbids makes a name that points right wrong, and says which record helps', () => {
    expect(judged([right], forbidding)).toEqual({
      verdict: 'wrong',
      findings: [
        {
          code: 'caa_blocks',
          hostname: SUB,
          foundAt: APEX,
          records: ['0 issue "ca.com"'],
          toAdd: '0 issue "letsencrypt.org"',
        },
      ],
    });
  });

  it('that no added record can help names what has to go', () => {
    const critical = level(records({ flags: 128, tag: 'foo', value: 'bar' }));
    expect(judged([right], critical).findings).toMatchObject([{ toRemove: ['128 foo "bar"'] }]);
  });

  it('that could not be read leaves the verdict open', () => {
    expect(judged([right], level(timeout))).toEqual({
      verdict: 'unknown',
      findings: [{ code: 'caa_unknown', hostname: SUB, name: APEX, outcome: 'timeout' }],
    });
  });

  it.each([null, []])('that nobody asked for is no permission: %j', (caa) => {
    expect(judged([right], caa)).toEqual({
      verdict: 'unknown',
      findings: [{ code: 'caa_unknown', hostname: SUB, name: SUB, outcome: 'timeout' }],
    });
  });

  it('does not matter while the name does not point here', () => {
    expect(judged([server()], forbidding).findings.map(({ code }) => code)).toEqual([
      'record_missing',
    ]);
    expect(judged([silent], forbidding).findings.map(({ code }) => code)).toEqual(['dns_unknown']);
  });
});
