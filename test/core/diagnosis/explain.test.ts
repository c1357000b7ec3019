import { describe, expect, it } from 'vitest';
import { actors, explain, type Finding, severities } from '../../../src/core/diagnosis/findings.ts';
import {
  about,
  apex,
  hintsWith,
  hostileSamples,
  hostname,
  samples,
  target,
} from '../support/sample-findings.ts';

const textsOf = (finding: Finding) => {
  const { summary, expected, found, action, hints } = explain(finding);
  return { summary, all: [summary, expected, found, action, ...hints.map(({ text }) => text)] };
};

describe('every finding', () => {
  it.each(Object.values(samples))('$code states the problem and the next step', (finding) => {
    const { code, severity, actor, hints } = explain(finding);
    expect({ code, severity }).toEqual({ code, severity: severities[finding.code] });
    expect(['customer', 'dns_provider', 'platform']).toContain(actor);
    const { summary, all } = textsOf(finding);
    expect(summary).toMatch(/^[^\n]{20,240}\.$/u);
    expect(summary).toContain(finding.hostname);
    expect(all).toHaveLength(4 + hints.length);
    for (const text of all) {
      expect(text).toMatch(/^[^\n]{10,600}$/u);
      expect(text).not.toMatch(/undefined|null|NaN|\[object| {2}|\.\.|: *$/);
    }
  });

  const { plan_required: _, ...withEvidence } = samples;
  it.each(Object.values(withEvidence))('$code shows its evidence', (finding) => {
    expect(textsOf(finding).all.join(' ')).toContain('evidence.example');
  });

  it.each(Object.values(hostileSamples))('$code escapes and truncates foreign text', (finding) => {
    for (const text of textsOf(finding).all) {
      expect(text).not.toMatch(/\p{C}|\p{Zl}|\p{Zp}/u);
      expect(text.length).toBeLessThan(6_000);
    }
  });

  it.each(Object.values(samples))('$code has texts for evidence of old versions', (finding) => {
    const optional = [
      'provider',
      'ourAddresses',
      'publishedAt',
      'hints',
      'toRemove',
      'reason',
      'method',
      'hint',
      'rfc',
    ];
    const old = Object.entries(finding).filter(([key]) => !optional.includes(key));
    const stored = Object.fromEntries(old) as Finding; // the rest of a finding of this code
    const { hints, ...words } = explain(stored);
    expect(hints).toEqual([]);
    for (const text of Object.values(words)) expect(text).toMatch(/^[^\n]{4,600}$/u);
  });
});

describe('the actor', () => {
  const bogus = (...codes: readonly number[]): Finding => ({
    ...samples.dnssec_bogus,
    errors: codes.map((code) => ({ code, text: '' })),
  });
  const reserved = (...names: readonly string[]): Finding => ({
    ...samples.reserved_address,
    addresses: names.map((at) => ({ at, address: '10.0.0.1', range: 'private' })),
  });
  const unknown = { code: 'dns_unknown', hostname, zone: 'example.com' } as const;
  const refusing = { server: 'ns1.example.com', outcome: 'refused' } as const;
  const failing = { server: 'ns1.example.com', outcome: 'servfail' } as const;
  const silent = { server: 'ns1.example.com', outcome: 'timeout' } as const;
  const rows: readonly (readonly [who: string, why: string, finding: Finding])[] = [
    ['platform', 'our own target', { code: 'dns_unknown', hostname: target, servers: [] }],
    [
      'platform',
      'our own silent resolvers',
      {
        code: 'dns_unknown',
        hostname: 'docs.example.com',
        servers: [
          { server: '192.0.2.53', outcome: 'timeout' },
          { server: '2001:db8::53', outcome: 'refused' },
        ],
      },
    ],
    [
      'platform',
      'our own limits',
      {
        code: 'dns_unknown',
        hostname: 'docs.example.com',
        servers: [{ server: 'ns1.example.com', outcome: 'not_asked' }],
      },
    ],
    [
      'dns_provider',
      'a zone that our resolvers cannot resolve',
      {
        code: 'dns_unknown',
        hostname: 'docs.example.com',
        servers: [{ server: '2001:db8::53', outcome: 'servfail' }],
      },
    ],
    ['dns_provider', 'failing servers', { ...unknown, servers: [failing] }],
    [
      'customer',
      'refusing servers, which can be the wrong ones',
      { ...unknown, servers: [refusing] },
    ],
    [
      'customer',
      'a zone that none of its name servers has',
      { ...samples.name_server_lame, all: true },
    ],
    [
      'dns_provider',
      'a name server that is silent',
      {
        ...samples.name_server_unreachable,
        servers: [{ server: 'ns1.example.com', outcome: 'timeout' }],
      },
    ],
    ['customer', 'silent servers, which can be the wrong ones', { ...unknown, servers: [silent] }],
    [
      'dns_provider',
      'servers that are silent for AAAA only',
      { ...unknown, servers: [silent], failing: 'AAAA' },
    ],
    ['customer', 'NS records at the name', samples.dns_unknown],
    ['platform', 'resolvers that fail for all', { ...unknown, servers: [refusing], ours: true }],
    ['customer', 'a CAA alias loop', { ...samples.caa_unknown, outcome: 'endless' }],
    ['platform', 'our own limits for CAA', { ...samples.caa_unknown, outcome: 'cut_off' }],
    [
      'customer',
      'a zone without any usable name server',
      { ...samples.name_server_unreachable, all: true },
    ],
    ['dns_provider', 'signatures that ran out', bogus(7)],
    ['dns_provider', 'signatures of the future, reported with the general error', bogus(6, 8)],
    ['dns_provider', 'a broken proof', bogus(12)],
    ['customer', 'a DS record without its key', bogus(9)],
    ['customer', 'a DS record without signatures', bogus(22, 10)],
    ['customer', 'signatures that do not match', bogus(6)],
    ['customer', 'broken signatures of unknown cause', bogus()],
    ['dns_provider', 'a private address of name servers', reserved('ns1.example.com')],
    [
      'customer',
      'name servers of two providers that do not agree',
      {
        ...samples.name_servers_disagree,
        right: ['ns1.old.net'],
        others: [{ server: 'ns1.new.org', shows: 'no record' }],
      },
    ],
    ['customer', 'a private address at the name', reserved(hostname)],
    ['customer', 'private addresses at both', reserved('ns1.example.com', hostname)],
  ];
  it.each(rows)('is the %s for %s', (who, _, finding) => {
    expect(explain(finding).actor).toBe(who);
  });

  it('is the default of the code for all others', () => {
    const byEvidence = [
      'dns_unknown',
      'dnssec_bogus',
      'reserved_address',
      'name_server_unreachable',
    ];
    for (const finding of Object.values(samples)) {
      if (byEvidence.includes(finding.code)) continue;
      expect(explain(finding).actor).toBe(actors[finding.code]);
    }
  });
});

describe('a hint', () => {
  const hints = hintsWith('evidence.example');
  const rows: readonly (readonly [code: keyof typeof hints, said: string])[] = [
    ['cname_indirect', 'through other names: evidence.example → evidence.example.'],
    [
      'doubled_name',
      'The record exists as evidence.example: your provider appends the domain. Change its name to “docs”.',
    ],
    ['wrong_host', 'The record is at evidence.example instead of docs.example.com.'],
    ['relative_target', 'which gives evidence.example. End the value with a dot: x.edge.test.'],
    [
      'txt_instead_of_cname',
      'TXT record has our target as its value: “evidence.example”. Delete it; the type must be CNAME, the value x.edge.test.',
    ],
    [
      'wildcard_masks',
      'can come from the wildcard evidence.example. A separate record for docs.example.com takes precedence',
    ],
    ['trailing_junk', 'extra characters: evidence.example. Enter x.edge.test alone'],
  ];
  it.each(rows)('%s explains the mistake and its repair', (code, said) => {
    const [shown, ...more] = explain({
      code: 'record_missing',
      ...about,
      seen: 'nxdomain',
      hints: [hints[code]],
    }).hints;
    expect(shown).toEqual({ code, text: expect.stringContaining(said) });
    expect(more).toEqual([]);
  });

  it('names the type an apex needs', () => {
    const { hints: shown } = explain({
      code: 'record_missing',
      ...apex,
      seen: 'nodata',
      hints: [hints.txt_instead_of_cname],
    });
    expect(shown[0]?.text).toContain('the type must be ALIAS');
  });

  it.each([
    ['lower_case', 'must be in lower case. Correct it to: 0 issue "letsencrypt.org"'],
    ['no_trailing_dot', 'ends with a dot. Correct it to: 0 issue "letsencrypt.org"'],
    ['bare_name', 'more than its name. Correct it to: 0 issue "letsencrypt.org"'],
  ] as const)('%s corrects a CAA record', (hint, said) => {
    const { hints: shown } = explain({ ...samples.caa_blocks, hint });
    expect(shown).toEqual([{ code: hint, text: expect.stringContaining(said) }]);
  });

  it('is absent without a known mistake', () => {
    expect(explain({ code: 'record_missing', ...about, seen: 'nxdomain' }).hints).toEqual([]);
    expect(explain(samples.held_elsewhere).hints).toEqual([]);
  });
});
