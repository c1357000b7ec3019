/** A check that causes each finding, with its evidence: a new code needs a row to compile. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import {
  type FindingCode,
  leadElsewhere,
  rules,
  severities,
} from '../../../src/core/diagnosis/findings.ts';
import type { Observation } from '../../../src/core/diagnosis/observation.ts';
import {
  delegated,
  expectedFor,
  mute,
  nodata,
  nothingNearby,
  nxdomain,
  observed,
  ourAddresses,
  records,
  resolver,
  server,
  servfail,
  target,
  timeout,
} from '../support/observations.ts';
import { samples } from '../support/sample-findings.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const right = server({ cname: records(target) });
const level = (name: string, answer: NonNullable<Observation['caa']>[number]['answer']) => ({
  caa: [{ name, answer }],
});
const caa = (value: string) => records({ flags: 0, tag: 'issue', value });

/** The observation, the verdict, and the finding's evidence beside code, hostname and target. */
type Row = readonly [
  observation: Observation,
  verdict: 'right' | 'wrong' | 'unknown',
  evidence: object,
];

type MadeBySaving = 'held_elsewhere' | 'ownership_unproven' | 'plan_required';

const rows: { readonly [C in Exclude<FindingCode, MadeBySaving>]: Row } = {
  domain_unregistered: [
    observed(SUB, [mute({ cname: nxdomain, a: nxdomain, aaaa: nxdomain })], {
      delegation: { kind: 'unregistered', zone: APEX, parent: 'com' },
    }),
    'wrong',
    { domain: APEX, registry: 'com' },
  ],
  no_name_servers: [
    observed(SUB, [mute({ cname: nxdomain, a: nxdomain, aaaa: nxdomain })], {
      delegation: { kind: 'undelegated', zone: APEX, parent: 'com' },
    }),
    'wrong',
    { domain: APEX, registry: 'com' },
  ],
  glue_mismatch: [
    observed(SUB, [right], {
      delegation: {
        kind: 'delegated',
        zone: APEX,
        parent: 'com',
        atParent: ['ns1.example.com'],
        atZone: ['ns1.example.com'],
        ttlSeconds: 86_400,
        glue: [{ server: 'ns1.example.com', atParent: ['192.0.2.53'], atZone: ['192.0.2.54'] }],
      },
    }),
    'right',
    {
      zone: APEX,
      parent: 'com',
      servers: [{ server: 'ns1.example.com', atParent: ['192.0.2.53'], atZone: ['192.0.2.54'] }],
    },
  ],
  https_record_mismatch: [
    observed(
      APEX,
      [server({ a: records('192.0.2.1', '192.0.2.2'), aaaa: records('2001:db8::1') })],
      {
        nearby: {
          ...nothingNearby,
          https: records({
            priority: 1,
            target: '.',
            port: null,
            hints: ['151.101.1.7'],
            ech: true,
          }),
        },
      },
    ),
    'right',
    { effect: 'hints', records: ['HTTPS 1 . ipv4hint=151.101.1.7 ech=…'] },
  ],
  domain_parked: [
    observed(SUB, [server({ a: records('151.101.1.7') })], {
      delegation: delegated(['ns1.sedoparking.com', 'ns2.sedoparking.com']),
    }),
    'wrong',
    {
      domain: APEX,
      kind: 'parked',
      by: 'Sedo',
      servers: ['ns1.sedoparking.com', 'ns2.sedoparking.com'],
    },
  ],
  name_servers_disagree: [
    observed(SUB, [right, server({ server: 'ns2', a: records('151.101.1.7') })]),
    'wrong',
    { right: ['ns1.example.com'], others: [{ server: 'ns2', shows: 'A 151.101.1.7' }] },
  ],
  proxied: [
    observed(SUB, [server({ a: records('104.16.0.1'), aaaa: records('2606:4700::1') })], {
      delegation: delegated(['amy.ns.cloudflare.com', 'bob.ns.cloudflare.com']),
    }),
    'wrong',
    { by: 'Cloudflare', addresses: ['104.16.0.1', '2606:4700::1'] },
  ],
  conflicting_a: [
    observed(SUB, [server({ a: records('151.101.1.7') })]),
    'wrong',
    { addresses: ['151.101.1.7'], ours: [] },
  ],
  conflicting_aaaa: [
    observed(APEX, [server({ a: records('192.0.2.1'), aaaa: records('2a04:4e42::7') })]),
    'wrong',
    { addresses: ['2a04:4e42::7'], ours: [] },
  ],
  cname_loop: [
    observed(SUB, [server({ cname: records('a.example.com') })], {
      nearby: {
        ...nothingNearby,
        chain: { names: ['a.example.com', 'b.example.com', 'a.example.com'], end: 'loop' },
      },
    }),
    'wrong',
    { names: ['a.example.com', 'b.example.com', 'a.example.com'] },
  ],
  cname_mismatch: [
    observed(SUB, [server({ cname: records('other.net') })]),
    'wrong',
    { found: 'other.net' },
  ],
  cname_at_apex: [
    observed(APEX, [right], { delegation: delegated(['ns1.gandi.net', 'ns2.gandi.net']) }),
    'wrong',
    { found: target, provider: 'Gandi', ourAddresses },
  ],
  apex_mixed: [
    observed(APEX, [server({ a: records('192.0.2.1', '151.101.1.7') })]),
    'wrong',
    { ours: ['192.0.2.1'], others: ['151.101.1.7'] },
  ],
  apex_elsewhere: [
    observed(APEX, [server({ a: records('151.101.1.7') })]),
    'wrong',
    { addresses: ['151.101.1.7'], ourAddresses },
  ],
  record_missing: [
    observed(SUB, [server({ cname: nxdomain, a: nxdomain, aaaa: nxdomain })], {
      delegation: delegated(['ns1.gandi.net', 'ns2.gandi.net']),
    }),
    'wrong',
    { seen: 'nxdomain', provider: 'Gandi' },
  ],
  dnssec_bogus: [
    observed(SUB, [right], {
      world: [
        resolver({ cname: servfail, answersUnchecked: true, errors: [{ code: 7, text: 'b' }] }),
        resolver({ server: '1.1.1.1', cname: servfail, errors: [{ code: 7, text: 'a' }] }),
        resolver({ server: '9.9.9.9', cname: timeout }),
      ],
    }),
    'wrong',
    { zone: APEX, errors: [{ code: 7, text: 'b' }] },
  ],
  caa_blocks: [
    observed(SUB, [right], level(APEX, caa('ca.com'))),
    'wrong',
    {
      foundAt: APEX,
      records: ['0 issue "ca.com"'],
      toAdd: '0 issue "letsencrypt.org"',
      reason: 'other_authority',
      rfc: 'deny',
    },
  ],
  caa_unknown: [
    observed(SUB, [right], level(APEX, timeout)),
    'unknown',
    { name: APEX, outcome: 'timeout' },
  ],
  mail_at_name: [
    observed(SUB, [server({ mx: records('20 b.example.net', '10 a.example.net', '0 .') })]),
    'wrong',
    { exchanges: ['10 a.example.net', '20 b.example.net'] },
  ],
  name_server_lame: [
    observed(SUB, [right, mute({ server: 'ns3', state: 'servfail' }), mute({ state: 'refused' })]),
    'right',
    {
      zone: APEX,
      servers: [
        { server: 'ns2.example.com', outcome: 'refused' },
        { server: 'ns3', outcome: 'servfail' },
      ],
    },
  ],
  name_server_unreachable: [
    observed(SUB, [right, mute({ state: 'no_address', address: null })]),
    'right',
    { zone: APEX, servers: [{ server: 'ns2.example.com', outcome: 'no_address' }] },
  ],
  delegation_mismatch: [
    observed(SUB, [right], { delegation: delegated(['ns1.old.net', 'ns2'], ['ns2', 'ns3']) }),
    'right',
    { zone: APEX, parent: 'com', onlyAtParent: ['ns1.old.net'], onlyAtZone: ['ns3'] },
  ],
  wildcard_answers: [
    observed(SUB, [right], {
      nearby: { ...nothingNearby, sibling: { cname: records(target), a: nodata } },
    }),
    'right',
    { wildcard: '*.example.com' },
  ],
  reserved_address: [
    observed(APEX, [
      server({ a: records('192.0.2.1', '192.0.2.2', '10.0.0.1') }),
      mute({ state: 'reserved_address', address: null }),
    ]),
    'wrong',
    {
      addresses: [
        { at: APEX, address: '10.0.0.1', range: 'private' },
        { at: 'ns2.example.com', address: null, range: 'reserved' },
      ],
    },
  ],
  caa_warns: [
    observed(SUB, [right], level(APEX, caa('letsencrypt.org; accounturi=https://a/1'))),
    'right',
    {
      foundAt: APEX,
      records: ['0 issue "letsencrypt.org; accounturi=https://a/1"'],
      reasons: ['account_untold'],
    },
  ],
  apex_partial: [
    observed(APEX, [server({ a: records('192.0.2.2') })]),
    'right',
    { addresses: ['192.0.2.2'], missing: ['192.0.2.1'] },
  ],
  old_answer_cached: [
    observed(SUB, [right], { world: [resolver({ a: records('151.101.1.7') })] }),
    'right',
    {
      remembered: 'positive',
      resolvers: [{ server: '8.8.8.8', shows: 'A 151.101.1.7' }],
      until: '2026-11-21T10:06:00.000Z',
    },
  ],
  dns_unknown: [
    observed(SUB, [mute()], {
      view: 'recursive',
      delegation: null,
      world: [resolver({ cname: servfail, errors: [{ code: 22, text: '' }] })],
    }),
    'unknown',
    {
      servers: [{ server: 'ns2.example.com', outcome: 'timeout' }],
      errors: [{ code: 22, text: '' }],
    },
  ],
};

describe('every finding has a check that causes it', () => {
  it.each(Object.entries(rows))('%s', (code, [observation, expected, evidence]) => {
    const { verdict, findings } = diagnose(observation, expectedFor(observation.hostname));
    const found = findings.find((one) => one.code === code);
    const about = { code, hostname: observation.hostname };
    expect(found === undefined || !('target' in found) || found.target === target).toBe(true);
    const { target: _, ...rest } = { target: undefined, ...found };
    expect(rest).toEqual({ ...about, ...evidence });
    expect(verdict).toBe(expected);
  });

  it('except those created when domains are saved', () => {
    const made = new Set<string>(Object.keys(rows));
    expect(Object.keys(severities).filter((code) => !made.has(code))).toEqual([
      'held_elsewhere',
      'ownership_unproven',
      'plan_required',
    ]);
  });
});

it('the order of findings is total', () => {
  const orders = rules.map(({ order }) => order);
  expect(new Set(orders).size).toBe(orders.length);
});

it('only findings that show another place say that the name led elsewhere', () => {
  const elsewhere = Object.values(samples).filter((finding) => leadElsewhere([finding]));
  expect(elsewhere.map(({ code }) => code).sort()).toEqual([
    'apex_elsewhere',
    'conflicting_a',
    'domain_parked',
    'domain_unregistered',
    'no_name_servers',
    'record_missing',
  ]);
  const { conflicting_aaaa: conflict, proxied, record_missing: missing } = samples;
  expect(leadElsewhere([{ ...conflict, ours: [] }])).toBe(true);
  expect(leadElsewhere([missing, proxied])).toBe(false);
  expect(leadElsewhere([{ code: 'of_a_later_version' } as never])).toBe(false);
});
