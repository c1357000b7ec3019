/** Delegation, addresses nobody can reach, proxies and mail: what stands beside the record. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../../src/core/diagnosis/observation.ts';
import { areCloudflareServers, proxyOf } from '../../../src/core/diagnosis/proxies.ts';
import {
  delegated,
  expectedFor,
  mute,
  nxdomain,
  observed,
  records,
  refused,
  resolver,
  server,
  target,
} from '../support/observations.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const right = server({ cname: records(target) });

function outcome(observation: Observation, allowPrivate = false) {
  const { verdict, findings } = diagnose(observation, {
    ...expectedFor(observation.hostname),
    allowPrivate,
  });
  return [verdict, ...findings.map(({ code }) => code)];
}

describe('a domain that nobody has registered', () => {
  const unregistered = { kind: 'unregistered', zone: APEX, parent: 'com' } as const;
  const absent = { cname: nxdomain, a: nxdomain, aaaa: nxdomain };
  it.each([
    ['no server answers', mute()],
    ['the registry’s server says that the name does not exist', server(absent)],
    ['something is there all the same', server({ a: records('10.0.0.1') })],
  ])('is told as just that where %s', (_, view) => {
    const caa = [{ name: APEX, answer: records({ flags: 0, tag: 'issue', value: ';' }) }];
    const observation = observed(SUB, [view], {
      delegation: unregistered,
      caa,
      world: [resolver()],
    });
    expect(outcome(observation)).toEqual(['wrong', 'domain_unregistered']);
  });
});

describe('a delegation', () => {
  const seen = (atParent: readonly string[], atZone: readonly string[] | null) =>
    outcome(observed(SUB, [right], { delegation: delegated(atParent, atZone) }));

  it('that zone and parent agree on, or of which only one side is known, is no finding', () => {
    expect(seen(['a', 'b'], ['b', 'a'])).toEqual(['right']);
    expect(seen(['a', 'b'], null)).toEqual(['right']);
    expect(seen(['a', 'b'], [])).toEqual(['right']);
  });

  it('that differs warns, whatever becomes of the record', () => {
    expect(seen(['a'], ['a', 'b'])).toEqual(['right', 'delegation_mismatch']);
    const observation = observed(SUB, [server()], { delegation: delegated(['a'], ['b']) });
    expect(outcome(observation)).toEqual(['wrong', 'record_missing', 'delegation_mismatch']);
  });
});

describe('servers that misbehave', () => {
  const refusing = mute({ state: 'refused', cname: refused, a: refused, aaaa: refused });

  const unowned = mute({ server: 'ns3', state: 'not_authoritative', aa: false });
  const failed = mute({ server: 'ns4', state: 'servfail' });
  it.each([
    ['one refuses', [refusing, mute({ server: 'ns1' })], ['ns2.example.com']],
    ['all decline in their own way', [unowned, refusing], ['ns2.example.com', 'ns3']],
    ['one refuses and one fails', [refusing, failed], ['ns2.example.com']],
  ] as const)('do not know the zone where none can tell and %s', (_, [one, other], names) => {
    const observation = observed(SUB, [one, other]);
    expect(outcome(observation)).toEqual(['unknown', 'name_server_lame', 'dns_unknown']);
    const [finding] = diagnose(observation, expectedFor(SUB)).findings;
    expect(finding).toMatchObject({ servers: names.map((server) => ({ server })) });
  });

  it.each(['servfail', 'malformed', 'timeout'] as const)(
    'are only unknown where none can tell and all are %s: the reason may be our own network',
    (state) => {
      expect(outcome(observed(SUB, [mute({ state })]))).toEqual(['unknown', 'dns_unknown']);
    },
  );

  it('are resolvers where only those were asked, and none of the zone’s', () => {
    const observation = observed(SUB, [right, refusing], { view: 'recursive' });
    expect(outcome(observation)).toEqual(['right']);
  });

  it.each(['not_asked', 'no_address', 'reserved_address'] as const)(
    'are not said to be silent where nobody asked them: %s',
    (state) => {
      const { findings } = diagnose(observed(SUB, [mute({ state })]), expectedFor(SUB));
      expect(findings.find(({ code }) => code === 'dns_unknown')).toMatchObject({
        servers: [{ server: 'ns2.example.com', outcome: state }],
      });
    },
  );
});

describe('an address that nobody can reach', () => {
  it('warns beside what blocks', () => {
    const observation = observed(SUB, [server({ a: records('10.0.0.1', '127.0.0.1') })]);
    expect(outcome(observation)).toEqual(['wrong', 'conflicting_a', 'reserved_address']);
    expect(outcome(observation, true)).toEqual(['wrong', 'conflicting_a']);
  });

  it('is fine where it is the platform’s, or may be', () => {
    const servers = [server({ a: records('10.0.0.1') })] as const;
    expect(outcome(observed(APEX, servers, { targetAddresses: ['10.0.0.1'] }))).toEqual(['right']);
    expect(outcome(observed(APEX, servers, { targetAddresses: [] }))).toEqual([
      'unknown',
      'dns_unknown',
    ]);
  });
});

describe('a proxy', () => {
  const proxied = server({ a: records('104.16.0.1') });
  const theirs = { delegation: delegated(['amy.ns.cloudflare.com', 'bob.ns.cloudflare.com']) };

  it('replaces the finding about the addresses only where it runs the zone', () => {
    expect(outcome(observed(SUB, [proxied], theirs))).toEqual(['wrong', 'proxied']);
    expect(outcome(observed(APEX, [proxied], theirs))).toEqual(['wrong', 'proxied']);
    expect(outcome(observed(SUB, [proxied]))).toEqual(['wrong', 'conflicting_a', 'proxied']);
    expect(outcome(observed(APEX, [proxied]))).toEqual(['wrong', 'apex_elsewhere', 'proxied']);
    const unknown = observed(SUB, [proxied], { delegation: null });
    expect(outcome(unknown)).toEqual(['wrong', 'conflicting_a', 'proxied']);
  });

  it('is not what a single address of many, or one of ours, comes from', () => {
    const some = server({ a: records('104.16.0.1', '151.101.1.7') });
    expect(outcome(observed(SUB, [some], theirs))).toEqual(['wrong', 'conflicting_a']);
    const ours = { ...theirs, targetAddresses: ['104.16.0.1'] };
    expect(outcome(observed(SUB, [proxied], ours))).toEqual(['wrong', 'conflicting_a']);
  });

  it.each([
    [['104.16.0.0', '172.71.255.255', '2606:4700::6810:1'], 'Cloudflare'],
    [['::ffff:104.16.0.1'], 'Cloudflare'],
    [['104.32.0.0'], null],
    [['104.16.0.1', '9.9.9.9'], null],
    [['nonsense'], null],
    [[], null],
  ])('is known by its addresses: %j', (addresses, by) => {
    expect(proxyOf(addresses)).toBe(by);
  });

  it.each([
    [['amy.ns.cloudflare.com', 'BOB.NS.CLOUDFLARE.COM.'], true],
    [['amy.ns.cloudflare.com', 'ns1.other.net'], false],
    [['ns.cloudflare.com.evil.net'], false],
    [[], false],
  ])('is known by its name servers: %j', (names, are) => {
    expect(areCloudflareServers(names)).toBe(are);
  });
});

describe('mail at the name', () => {
  const mx = records('10 mx.other.net');
  it('is told beside whatever else is wrong, also what is not known', () => {
    const cname = records('other.net');
    expect(outcome(observed(SUB, [server({ cname, mx })]))).toEqual([
      'wrong',
      'cname_mismatch',
      'mail_at_name',
    ]);
    expect(outcome(observed(SUB, [server({ cname: refused, mx })]))).toEqual([
      'unknown',
      'mail_at_name',
      'dns_unknown',
    ]);
  });

  it('is no finding where it was not asked for, is not wanted, or nothing has to change', () => {
    expect(outcome(observed(SUB, [server({ mx: null })]))).toEqual(['wrong', 'record_missing']);
    expect(outcome(observed(SUB, [server({ mx: records('0 .') })]))).toEqual([
      'wrong',
      'record_missing',
    ]);
  });

  it('is told beside a right CNAME, too, where a server lets both stand', () => {
    expect(outcome(observed(SUB, [right, { ...right, mx }]))).toEqual(['right', 'mail_at_name']);
    const nobody = { ...right, mx: records('0 .') };
    expect(outcome(observed(SUB, [nobody]))).toEqual(['right']);
  });
});
