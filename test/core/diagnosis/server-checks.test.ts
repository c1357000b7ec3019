/** Delegation, unreachable addresses, proxies and mail: findings beside the record. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { Observation, ProxyAnswer } from '../../../src/core/diagnosis/observation.ts';
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

describe('an unregistered domain', () => {
  const unregistered = { kind: 'unregistered', zone: APEX, parent: 'com' } as const;
  const absent = { cname: nxdomain, a: nxdomain, aaaa: nxdomain };
  it.each([
    ['no server answers', mute()],
    ['the registry’s server says that the name does not exist', server(absent)],
    ['some record exists nevertheless', server({ a: records('10.0.0.1') })],
  ])('is reported when %s', (_, view) => {
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

  it('that zone and parent agree on, or with only one side known, causes no finding', () => {
    expect(seen(['a', 'b'], ['b', 'a'])).toEqual(['right']);
    expect(seen(['a', 'b'], null)).toEqual(['right']);
    expect(seen(['a', 'b'], [])).toEqual(['right']);
  });

  it('that differs causes a warning, whatever the record is', () => {
    expect(seen(['a'], ['a', 'b'])).toEqual(['right', 'delegation_mismatch']);
    const observation = observed(SUB, [server()], { delegation: delegated(['a'], ['b']) });
    expect(outcome(observation)).toEqual(['wrong', 'record_missing', 'delegation_mismatch']);
  });
});

describe('misbehaving servers', () => {
  const refusing = mute({ state: 'refused', cname: refused, a: refused, aaaa: refused });

  const unowned = mute({ server: 'ns3', state: 'not_authoritative', aa: false });
  const failed = mute({ server: 'ns4', state: 'servfail' });
  it.each([
    ['one refuses', [refusing, mute({ server: 'ns1' })], ['ns2.example.com']],
    ['all refuse in different ways', [unowned, refusing], ['ns2.example.com', 'ns3']],
    ['one refuses and one fails', [refusing, failed], ['ns2.example.com']],
  ] as const)('are reported as lame when none answers and %s', (_, [one, other], names) => {
    const observation = observed(SUB, [one, other]);
    expect(outcome(observation)).toEqual(['unknown', 'name_server_lame', 'dns_unknown']);
    const [finding] = diagnose(observation, expectedFor(SUB)).findings;
    expect(finding).toMatchObject({ servers: names.map((server) => ({ server })) });
  });

  it.each(['servfail', 'malformed', 'timeout'] as const)(
    'are only unknown when all are %s, as our own network may be the cause',
    (state) => {
      expect(outcome(observed(SUB, [mute({ state })]))).toEqual(['unknown', 'dns_unknown']);
    },
  );

  it('can be resolvers in the recursive view, and then are not the zone’s', () => {
    const observation = observed(SUB, [right, refusing], { view: 'recursive' });
    expect(outcome(observation)).toEqual(['right']);
  });

  it.each(['not_asked', 'no_address', 'reserved_address'] as const)(
    'are not called silent when they were not queried: %s',
    (state) => {
      const { findings } = diagnose(observed(SUB, [mute({ state })]), expectedFor(SUB));
      expect(findings.find(({ code }) => code === 'dns_unknown')).toMatchObject({
        servers: [{ server: 'ns2.example.com', outcome: state }],
      });
    },
  );
});

describe('an unreachable address', () => {
  it('causes a warning beside the blocking finding', () => {
    const observation = observed(SUB, [server({ a: records('10.0.0.1', '127.0.0.1') })]);
    expect(outcome(observation)).toEqual(['wrong', 'conflicting_a', 'reserved_address']);
    expect(outcome(observation, true)).toEqual(['wrong', 'conflicting_a']);
  });

  it('is accepted if it can be the platform’s', () => {
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

  it('replaces the finding about the addresses only if it hosts the zone', () => {
    expect(outcome(observed(SUB, [proxied], theirs))).toEqual(['wrong', 'proxied']);
    expect(outcome(observed(APEX, [proxied], theirs))).toEqual(['wrong', 'proxied']);
    expect(outcome(observed(SUB, [proxied]))).toEqual(['wrong', 'conflicting_a', 'proxied']);
    expect(outcome(observed(APEX, [proxied]))).toEqual(['wrong', 'apex_elsewhere', 'proxied']);
    const unknown = observed(SUB, [proxied], { delegation: null });
    expect(outcome(unknown)).toEqual(['wrong', 'conflicting_a', 'proxied']);
  });

  const at = (result: ProxyAnswer['result'], status: number | null = null): ProxyAnswer => ({
    address: '104.16.0.1',
    result,
    status,
  });
  const passages: readonly (readonly [
    what: string,
    proxy: readonly ProxyAnswer[],
    verdict: string,
    severity: string,
    words: RegExp,
  ])[] = [
    ['our edge answers', [at('edge', 200)], 'right', 'warns', /must be “Full \(strict\)”/],
    [
      'one of two addresses answers otherwise',
      [at('edge', 200), at('other', 404)],
      'wrong',
      'blocks',
      /leads to another server/,
    ],
    ['it redirects', [at('redirect', 301)], 'wrong', 'blocks', /turn off the redirect rule/],
    [
      'it cannot connect to us over TLS',
      [at('other', 525)],
      'wrong',
      'blocks',
      /turn off “Always Use HTTPS”/,
    ],
    [
      'the value of its record does not resolve',
      [at('other', 530)],
      'wrong',
      'blocks',
      /its value must be exactly/,
    ],
    [
      'this machine cannot recognize our edge',
      [at('unseen')],
      'unknown',
      'warns',
      /Only the service can see/,
    ],
    ['it is overloaded', [at('other', 503)], 'unknown', 'warns', /We could not see whether/],
    ['a rule stops it', [at('other', 403)], 'wrong', 'blocks', /add a rule that skips all others/],
    ['it cannot connect to us', [at('other', 522)], 'unknown', 'warns', /an error 52x means/],
    ['it is silent', [at('none')], 'unknown', 'warns', /We could not see whether it passes/],
    [
      'one of two is silent',
      [at('edge', 200), at('none')],
      'unknown',
      'warns',
      /We could not see whether it passes/,
    ],
  ];
  it.each(passages)('in front of us is classified by a challenge: %s', (...row) => {
    const [, proxy, verdict, severity, words] = row;
    const seen = observed(SUB, [proxied], { ...theirs, proxy });
    const result = diagnose(seen, expectedFor(SUB));
    const [finding] = result.findings;
    expect([result.verdict, finding?.code]).toEqual([verdict, 'proxied']);
    if (finding === undefined) return;
    const { summary, action, ...explained } = explain(finding);
    expect(explained.severity).toBe(severity);
    expect(`${summary} ${action}`).toMatch(words);
  });

  it('that passes challenges on does not hide that CAA forbids the certificate', () => {
    const caa = [{ name: APEX, answer: records({ flags: 0, tag: 'issue', value: 'ca.com' }) }];
    const seen = observed(SUB, [proxied], { ...theirs, proxy: [at('edge', 200)], caa });
    expect(outcome(seen)).toEqual(['wrong', 'caa_blocks', 'proxied']);
  });

  it('counts only while the proxy is all that the name shows', () => {
    const other = server({ a: records('151.101.1.7') });
    const seen = observed(SUB, [other], { ...theirs, proxy: [at('edge', 200)] });
    expect(outcome(seen)).toEqual(['wrong', 'conflicting_a']);
  });

  it('is not assumed from one of many addresses or from ours', () => {
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
  ])('is recognized by its addresses: %j', (addresses, by) => {
    expect(proxyOf(addresses)).toBe(by);
  });

  it.each([
    [['amy.ns.cloudflare.com', 'BOB.NS.CLOUDFLARE.COM.'], true],
    [['amy.ns.cloudflare.com', 'ns1.other.net'], false],
    [['ns.cloudflare.com.evil.net'], false],
    [[], false],
  ])('is recognized by its name servers: %j', (names, are) => {
    expect(areCloudflareServers(names)).toBe(are);
  });
});

describe('mail at the name', () => {
  const mx = records('10 mx.other.net');
  it('is reported beside any other problem, also an unknown state', () => {
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

  it('causes no finding when it was not queried or is rejected by null MX', () => {
    expect(outcome(observed(SUB, [server({ mx: null })]))).toEqual(['wrong', 'record_missing']);
    expect(outcome(observed(SUB, [server({ mx: records('0 .') })]))).toEqual([
      'wrong',
      'record_missing',
    ]);
    expect(outcome(observed(SUB, [{ ...right, mx }]))).toEqual(['right', 'mail_at_name']);
  });
});
