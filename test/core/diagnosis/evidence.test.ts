/** The evidence in findings, and the role of CAA. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { CaaLevel, Observation, ServerView } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  mute,
  nxdomain,
  observed,
  ourAddresses,
  records,
  refused,
  server,
  target,
  timeout,
} from '../support/observations.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const right = server({ cname: records(target) });
const silent = mute();

describe('the evidence', () => {
  function findingsOf(hostname: string, servers: Observation['servers']) {
    return diagnose(observed(hostname, servers), expectedFor(hostname)).findings;
  }
  const about = { hostname: SUB, target };
  type Evidence = readonly [what: string, servers: Observation['servers'], finding: object];
  const rows: readonly Evidence[] = [
    [
      'names every address of every server once, and which are ours',
      [server({ a: records('151.101.1.7', '192.0.2.1') }), server({ a: records('192.0.2.1') })],
      {
        code: 'conflicting_a',
        ...about,
        addresses: ['151.101.1.7', '192.0.2.1'],
        ours: ['192.0.2.1'],
      },
    ],
    [
      'names the CNAME that was found',
      [server({ cname: records('other.net') })],
      { code: 'cname_mismatch', ...about, found: 'other.net' },
    ],
    [
      'marks a nonexistent name',
      [server({ cname: nxdomain })],
      { code: 'record_missing', ...about, seen: 'nxdomain' },
    ],
    [
      'marks a name that exists at one server or more',
      [server({ cname: nxdomain }), server()],
      { code: 'record_missing', ...about, seen: 'nodata' },
    ],
    [
      'names the mail servers that a CNAME would replace',
      [server({ a: records('151.101.1.7'), mx: records('10 mx.other.net') })],
      {
        code: 'conflicting_a',
        ...about,
        addresses: ['151.101.1.7'],
        ours: [],
        exchanges: ['10 mx.other.net'],
      },
    ],
    [
      'names what each lagging server shows',
      [
        server({ server: 'ns4', cname: nxdomain, a: nxdomain }),
        server({ server: 'ns3', a: records('151.101.1.7', '1.1.1.1'), aaaa: records('2a04::7') }),
        server({ server: 'ns2', cname: records('other.net') }),
        server({ server: 'ns1' }),
        server({ server: 'ns0', cname: records(target) }),
      ],
      {
        code: 'name_servers_disagree',
        ...about,
        right: ['ns0'],
        others: [
          { server: 'ns1', shows: 'no record' },
          { server: 'ns2', shows: 'CNAME other.net' },
          { server: 'ns3', shows: 'A 1.1.1.1, A 151.101.1.7, AAAA 2a04::7' },
          { server: 'ns4', shows: 'no such name' },
        ],
      },
    ],
    [
      'names the servers that failed and why, except those not queried',
      [silent, server({ cname: refused }), mute({ server: 'ns3', state: 'not_asked' })],
      {
        code: 'dns_unknown',
        hostname: SUB,
        servers: [
          { server: 'ns1.example.com', outcome: 'refused' },
          { server: 'ns2.example.com', outcome: 'timeout' },
        ],
        zone: 'example.com',
      },
    ],
  ];
  it.each(rows)('%s', (_, servers, finding) => {
    expect(findingsOf(SUB, servers)[0]).toEqual(finding);
  });

  it('blames no server for an answer that our own limits cut off', () => {
    const cutOff = { kind: 'timeout', cutOff: true } as const;
    const [finding] = findingsOf(APEX, [server({ a: records('192.0.2.1'), aaaa: cutOff })]);
    expect(finding).toMatchObject({ servers: [{ outcome: 'not_asked' }] });
    expect(finding && explain(finding).actor).toBe('platform');
  });

  it('names our addresses only at an apex without a CNAME', () => {
    const [atApex] = findingsOf(APEX, [server()]);
    expect(atApex).toMatchObject({ code: 'record_missing', ourAddresses });
    const [below] = findingsOf(SUB, [server({ mx: records('10 mx.other.net') })]);
    expect(below).toMatchObject({ code: 'record_missing', exchanges: ['10 mx.other.net'] });
    expect(below).not.toHaveProperty('ourAddresses');
    expect(findingsOf(APEX, [server({ mx: records('10 mx.other.net') })])[0]).not.toHaveProperty(
      'exchanges',
    );
  });

  it('is stable when a server shuffles its answers', () => {
    const [a, b] = ['151.101.1.7', '151.101.1.8'];
    expect(findingsOf(SUB, [server({ a: records(a, b) })])).toEqual(
      findingsOf(SUB, [server({ a: records(b, a) })]),
    );
  });
});

describe('CAA', () => {
  const level = (answer: CaaLevel['answer']): CaaLevel[] => [{ name: APEX, answer }];
  const forbidding = level(records({ flags: 0, tag: 'issue', value: 'ca.com' }));
  function diagnosed(servers: readonly [ServerView], caa: readonly CaaLevel[] | null) {
    const { verdict, findings } = diagnose(observed(SUB, servers, { caa }), expectedFor(SUB));
    return { verdict, findings };
  }

  it('that forbids makes a correct name wrong and names the record to add', () => {
    expect(diagnosed([right], forbidding)).toEqual({
      verdict: 'wrong',
      findings: [
        {
          code: 'caa_blocks',
          hostname: SUB,
          foundAt: APEX,
          records: ['0 issue "ca.com"'],
          toAdd: '0 issue "letsencrypt.org"',
          reason: 'other_authority',
          rfc: 'deny',
        },
      ],
    });
  });

  it('that no added record can fix names the record to remove', () => {
    const critical = level(records({ flags: 128, tag: 'foo', value: 'bar' }));
    expect(diagnosed([right], critical).findings).toMatchObject([{ toRemove: ['128 foo "bar"'] }]);
  });

  it('that could not be read leaves the verdict unknown', () => {
    expect(diagnosed([right], level(timeout))).toEqual({
      verdict: 'unknown',
      findings: [{ code: 'caa_unknown', hostname: SUB, name: APEX, outcome: 'timeout' }],
    });
  });

  it.each([null, []])('that was not queried is no permission: %j', (caa) => {
    expect(diagnosed([right], caa)).toEqual({
      verdict: 'unknown',
      findings: [{ code: 'caa_unknown', hostname: SUB, name: SUB, ours: true, outcome: 'cut_off' }],
    });
  });

  it('that forbids is reported with a missing record, so that one visit repairs both', () => {
    const { verdict, findings } = diagnosed([server()], forbidding);
    expect([verdict, ...findings.map(({ code }) => code)]).toEqual([
      'wrong',
      'record_missing',
      'caa_blocks',
    ]);
  });

  it.each([[null], [level(timeout)]])('is ignored if unread without a record: %j', (caa) => {
    expect(diagnosed([server()], caa).findings.map(({ code }) => code)).toEqual(['record_missing']);
  });

  it("is ignored while the name's target is unknown", () => {
    expect(diagnosed([silent], forbidding).findings.map(({ code }) => code)).toEqual([
      'dns_unknown',
    ]);
  });

  it('that allows with a caveat causes a warning', () => {
    const account = '; accounturi=https://ca.example/acct/1';
    const set = level(records({ flags: 0, tag: 'issue', value: `letsencrypt.org${account}` }));
    expect(diagnosed([right], set)).toMatchObject({
      verdict: 'right',
      findings: [{ code: 'caa_warns', foundAt: APEX, reasons: ['account_untold'] }],
    });
  });
});
