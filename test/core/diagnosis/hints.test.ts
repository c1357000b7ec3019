/** Mistakes that a check recognizes, from zones as customers write them. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import {
  type Hint,
  type HintCode,
  isRelativeTarget,
  isTargetWithJunk,
} from '../../../src/core/diagnosis/hints.ts';
import {
  expectedFor,
  mute,
  nodata,
  observed,
  records,
  server,
  target,
  timeout,
} from '../support/observations.ts';
import { observeZones } from '../support/server-view.ts';

const platform = { 'edge.example': ['p1 A 93.184.215.10'] };

function hintsIn(lines: readonly string[], hostname = 'docs.example.com') {
  const observation = observeZones({ hostname, target, zones: { 'example.com': lines }, platform });
  const { findings } = diagnose(observation, expectedFor(hostname));
  return findings.flatMap((one) =>
    'hints' in one ? (one.hints ?? []).map((hint) => [one.code, hint] as const) : [],
  );
}

type Row = readonly [what: string, zone: readonly string[], code: string, hint: Hint];

/** From records beside the zone's own; test/dns/findings has these. */
type BesideZone =
  | 'dname_above'
  | 'apex_points_here'
  | 'own_zone'
  | 'separate_zone'
  | 'plain_answer';

const rows: { readonly [C in Exclude<HintCode, BesideZone>]: Row } = {
  doubled_name: [
    'the full name in a form that appends the zone',
    ['docs.example.com CNAME p1.edge.example.'],
    'record_missing',
    { code: 'doubled_name', name: 'docs.example.com.example.com' },
  ],
  wrong_host: [
    'the record at www of the name',
    ['www.docs CNAME p1.edge.example.'],
    'record_missing',
    { code: 'wrong_host', name: 'www.docs.example.com' },
  ],
  txt_instead_of_cname: [
    'the target in a TXT record',
    ['docs TXT "P1.Edge.Example."'],
    'record_missing',
    { code: 'txt_instead_of_cname', text: 'P1.Edge.Example.' },
  ],
  cname_indirect: [
    'an indirect alias over two names',
    ['docs CNAME one', 'one CNAME two', 'two CNAME p1.edge.example.'],
    'cname_mismatch',
    { code: 'cname_indirect', via: ['one.example.com', 'two.example.com'] },
  ],
  relative_target: [
    'the zone appended to the target',
    ['docs CNAME p1.edge.example'],
    'cname_mismatch',
    { code: 'relative_target', found: 'p1.edge.example.example.com' },
  ],
  trailing_junk: [
    'a web address instead of the target',
    ['docs CNAME https\\058\\047\\047p1.edge.example\\047.'],
    'cname_mismatch',
    { code: 'trailing_junk', found: 'https\\058\\047\\047p1.edge.example\\047' },
  ],
  wildcard_masks: [
    'a wildcard that leads elsewhere',
    ['* CNAME other.net.'],
    'cname_mismatch',
    { code: 'wildcard_masks', wildcard: '*.example.com' },
  ],
  wildcard_stops: [
    'a wildcard that points here but does not apply to a name with a text',
    ['* CNAME p1.edge.example.', 'docs TXT "hello"'],
    'record_missing',
    { code: 'wildcard_stops', wildcard: '*.example.com' },
  ],
  partial_target: [
    'only the first label of the target',
    ['docs CNAME p1'],
    'cname_mismatch',
    { code: 'partial_target', typed: 'p1' },
  ],
  doubled_end: [
    'the end of the target twice',
    ['docs CNAME p1.edge.example.edge.example.'],
    'cname_mismatch',
    { code: 'doubled_end', typed: 'p1.edge.example.edge.example' },
  ],
  misspelled_target: [
    'one wrong letter',
    ['docs CNAME p1.edqe.example.'],
    'cname_mismatch',
    { code: 'misspelled_target', typed: 'p1.edqe.example' },
  ],
  other_target: [
    'the target of another domain',
    ['docs CNAME other9.edge.example.'],
    'cname_mismatch',
    { code: 'other_target', typed: 'other9.edge.example' },
  ],
};

describe('a hint reports', () => {
  it.each(Object.values(rows))('%s', (_, zone, code, hint) => {
    expect(hintsIn(zone)).toEqual([[code, hint]]);
  });

  const more: readonly (readonly [string, readonly string[], string])[] = [
    ['a wildcard with an address', ['* A 151.101.1.7'], 'conflicting_a'],
    ['a wildcard with something else', ['* TXT "x"'], 'record_missing'],
  ];
  it.each(more)('%s', (_, zone, code) => {
    expect(hintsIn(zone)).toEqual([[code, { code: 'wildcard_masks', wildcard: '*.example.com' }]]);
  });
});

describe('these cause no hint:', () => {
  const rowsWithout: readonly (readonly [string, readonly string[]])[] = [
    ['a wildcard beside a separate record', ['* A 151.101.1.7', 'docs A 151.101.1.8']],
    ['a wildcard that leads elsewhere than the name', ['* CNAME a.net.', 'docs CNAME b.net.']],
    ['a doubled name that leads elsewhere', ['docs.example.com CNAME other.net.']],
    ['a TXT record about something else', ['docs TXT "v=spf1 -all"']],
    ['an alias that leads elsewhere', ['docs CNAME mid', 'mid CNAME other.net.']],
    ['an alias of www', ['docs CNAME www']],
  ];
  it.each(rowsWithout)('%s', (_, zone) => {
    expect(hintsIn(zone)).toEqual([]);
  });

  it('a wildcard beside an apex, which it does not match', () => {
    const observation = observed('example.com', [server()]);
    const sibling = { cname: nodata, a: nodata };
    const { findings } = diagnose(
      { ...observation, nearby: { ...observation.nearby, sibling } },
      expectedFor('example.com'),
    );
    expect(findings).toMatchObject([{ code: 'record_missing' }]);
    expect(findings[0]).not.toHaveProperty('hints');
  });

  it('a chain while no answering server shows an alias', () => {
    const observation = observed('docs.example.com', [mute({ cname: timeout })]);
    for (const end of ['loop', 'target'] as const) {
      const chain = { names: ['a.net'], end };
      const { findings } = diagnose(
        { ...observation, nearby: { ...observation.nearby, chain } },
        expectedFor('docs.example.com'),
      );
      expect(findings.map(({ code }) => code)).toEqual(['dns_unknown']);
    }
  });
});

it('a hostile TXT record is stored truncated and escaped', () => {
  const text = `${target}\u0000\u202e${'x\u{1f600}'.repeat(5_000)}`;
  const { findings } = diagnose(
    observed('docs.example.com', [server({ txt: records(text) })]),
    expectedFor('docs.example.com'),
  );
  const [finding] = findings;
  const hint = finding?.code === 'record_missing' ? finding.hints?.[0] : undefined;
  const kept = hint?.code === 'txt_instead_of_cname' ? hint.text : '';
  expect(kept).toContain(`${target}\\u{0}\\u{202e}x`);
  expect([...kept].length).toBeLessThanOrEqual(120);
  expect(kept).not.toMatch(/[\p{C}]/u);
});

describe('an alias loop', () => {
  const loops: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['at the name itself', ['docs CNAME docs'], ['docs', 'docs']],
    ['through the name', ['docs CNAME a', 'a CNAME docs'], ['docs', 'a', 'docs']],
    ['behind the name', ['docs CNAME a', 'a CNAME b', 'b CNAME c', 'c CNAME b'], ['b', 'c', 'b']],
  ];
  it.each(loops)('%s is reported instead of the alias that leads there', (_, zone, names) => {
    const hostname = 'docs.example.com';
    const observation = observeZones({
      hostname,
      target,
      zones: { 'example.com': zone },
      platform,
    });
    expect(diagnose(observation, expectedFor(hostname)).findings).toMatchObject([
      { code: 'cname_loop', names: names.map((name) => `${name}.example.com`) },
      { code: 'cname_mismatch' },
    ]);
  });

  it('can be reported without the name that closes it', () => {
    const chain = { names: ['a.net', 'b.net'], end: 'loop' } as const;
    const observation = observed('docs.example.com', [server({ cname: records('a.net') })]);
    const { findings } = diagnose(
      { ...observation, nearby: { ...observation.nearby, chain } },
      expectedFor('docs.example.com'),
    );
    expect(findings[0]).toMatchObject({ names: ['a.net', 'b.net', 'a.net'] });
  });
});

describe('the text of an alias', () => {
  const zones = ['docs.example.com', 'example.com'];
  type Slip = 'relative' | 'junk' | null;
  const aliases: readonly (readonly [alias: string, slip: Slip])[] = [
    [target, null],
    [`${target}.`, null],
    ['P1.Edge.Example', null],
    [`${target}.example.com`, 'relative'],
    [`${target}.docs.example.com`, 'relative'],
    [`${target}.other.net`, null],
    [`${target}.com`, null],
    [`x${target}`, null],
    [`${target}-2`, null],
    ['https\\058\\047\\047p1.edge.example\\047docs', 'junk'],
    ['http\\058\\047\\047p1.edge.example.example.com', 'junk'],
    ['\\034p1.edge.example\\034', 'junk'],
    ['\\"p1.edge.example\\".example.com', 'junk'],
    ['p1.edge.example\\.', 'junk'],
    ['p1\\.edge\\.example', 'junk'],
    ['p1.edge.example\\032', 'junk'],
    ['p1.edge.example\\044.example.com', 'junk'],
    ['p1.edge.example\\058443', 'junk'],
    ['p1.edge.example\\059', 'junk'],
    ['https\\058\\047\\047other.net', null],
    ['', null],
    ['\\', null],
  ];
  it.each(aliases)('%s: %s', (alias, slip) => {
    expect(isRelativeTarget(alias, target, zones)).toBe(slip === 'relative');
    expect(isTargetWithJunk(alias, target, zones)).toBe(slip === 'junk');
  });
});
