/** What resolvers return for a name that is right at its own servers. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation, ResolverView } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  nodata,
  nxdomain,
  observed,
  records,
  refused,
  resolver,
  server,
  servfail,
  target,
  timeout,
} from '../support/observations.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const right = server({ cname: records(target) });
const rightApex = server({ a: records('192.0.2.1', '192.0.2.2') });

function outcome(observation: Observation) {
  const { verdict, findings } = diagnose(observation, expectedFor(observation.hostname));
  return [verdict, ...findings.map(({ code }) => code)];
}

const failing: Partial<ResolverView> = { cname: servfail, a: servfail, aaaa: servfail };
const error = (code: number, text = '') => ({ code, text });

type Row = readonly [what: string, shown: Partial<ResolverView>, outcome: readonly string[]];

describe('DNSSEC', () => {
  const bogus = ['wrong', 'dnssec_bogus'];
  const rows: readonly Row[] = [
    ['is fine when the resolver has the record', { cname: records(target) }, ['right']],
    ['is to blame when it answers with CD', { ...failing, answersUnchecked: true }, bogus],
    ['is to blame when the extended error says so', { ...failing, errors: [error(9)] }, bogus],
    [
      'is not to blame when the resolver gives another reason: no server was reachable',
      { ...failing, answersUnchecked: true, errors: [error(22)] },
      ['right'],
    ],
    [
      'is not to blame for a cached failure',
      { ...failing, answersUnchecked: true, errors: [error(13)] },
      ['right'],
    ],
    [
      'is to blame when the extended error is one of several',
      { ...failing, errors: [error(22), error(6)] },
      bogus,
    ],
    ['is not to blame for any failure', failing, ['right']],
    ['is not to blame for one with CD, too', { ...failing, answersUnchecked: false }, ['right']],
    ['is not to blame for a lame server', { ...failing, errors: [error(22)] }, ['right']],
    ['is not to blame for a filter', { ...failing, errors: [error(15), error(6)] }, ['right']],
    [
      'is not to blame for a filter that CD bypasses',
      { ...failing, answersUnchecked: true, errors: [error(17)] },
      ['right'],
    ],
    ['is not to blame for a timeout', { cname: timeout, a: timeout, aaaa: timeout }, ['right']],
    ['is not to blame for REFUSED', { cname: refused, errors: [error(18)] }, ['right']],
    [
      'of our own target is not the customer’s problem',
      { cname: records(target), a: servfail, aaaa: servfail, answersUnchecked: true },
      ['right'],
    ],
    [
      'is fine when a resolver answers nevertheless',
      { cname: records(target), errors: [error(7)] },
      ['right'],
    ],
  ];
  it.each(rows)('%s', (_, shown, expected) => {
    expect(outcome(observed(SUB, [right], { world: [resolver(shown)] }))).toEqual(expected);
  });

  const second: readonly Row[] = [
    ['has the record', { cname: records(target), authenticated: true }, ['right']],
    ['has no record', { cname: nxdomain, negativeTtlSeconds: 60 }, ['right', 'old_answer_cached']],
    ['is silent', { cname: timeout, a: timeout, aaaa: timeout }, bogus],
    ['filters', { cname: records(target), errors: [error(15)] }, bogus],
  ];
  it.each(second)('is diagnosed by all resolvers: the second one %s', (_, shown, expected) => {
    const world = [
      resolver({ ...failing, errors: [error(7)] }),
      resolver({ server: '1.1.1.1', ...shown }),
    ];
    expect(outcome(observed(SUB, [right], { world }))).toEqual(expected);
  });

  it('of an apex is diagnosed by the addresses', () => {
    const world = [resolver({ a: servfail, answersUnchecked: true })];
    expect(outcome(observed(APEX, [rightApex], { world }))).toEqual(bogus);
  });

  it('is not checked while the name does not point here', () => {
    const world = [resolver({ ...failing, answersUnchecked: true })];
    expect(outcome(observed(SUB, [server()], { world }))).toEqual(['wrong', 'record_missing']);
  });

  it('keeps one truncated text per error', () => {
    const errors = [error(6, 'y'.repeat(9_000)), error(6, 'x'), error(9, '')];
    const world = [resolver({ ...failing, errors })];
    const [finding] = diagnose(observed(SUB, [right], { world }), expectedFor(SUB)).findings;
    const kept = finding?.code === 'dnssec_bogus' ? finding.errors : [];
    expect(kept.map(({ code }) => code)).toEqual([6, 9]);
    expect(kept[0]?.text).toMatch(/^y{199}…$/);
  });
});

describe('a cached old answer', () => {
  const old = ['right', 'old_answer_cached'];
  const rows: readonly Row[] = [
    ['is another alias', { cname: records('other.net'), a: records('1.1.1.1') }, old],
    ['is an address', { a: records('151.101.1.7') }, old],
    ['is “no such name”', { cname: nxdomain, a: nxdomain, aaaa: nxdomain }, old],
    ['is “no such record”', {}, old],
    ['is not the expected one', { cname: records(target), a: records('192.0.2.1') }, ['right']],
    ['is not that of a filter', { a: records('0.0.0.0'), errors: [error(15)] }, ['right']],
    ['is not a timeout', { cname: timeout, a: records('192.0.2.1') }, ['right']],
  ];
  it.each(rows)('%s', (_, shown, expected) => {
    expect(outcome(observed(SUB, [right], { world: [resolver(shown)] }))).toEqual(expected);
  });

  it('of an apex is a foreign address or none', () => {
    const seen = (shown: Partial<ResolverView>) =>
      outcome(observed(APEX, [rightApex], { world: [resolver(shown)] }));
    expect(seen({ a: records('151.101.1.7') })).toEqual(old);
    expect(seen({})).toEqual(old);
    expect(seen({ a: records('192.0.2.2') })).toEqual(['right']);
    expect(seen({ aaaa: timeout })).toEqual(['right']);
  });

  it('is not detected in the recursive view', () => {
    const observation = observed(SUB, [right], { view: 'recursive', world: [resolver()] });
    expect(outcome(observation)).toEqual(['right']);
  });

  const at = '2026-11-21T10:00:30.500Z';
  const soa = { serial: 1, negativeTtlSeconds: 600 };
  const kept = (seconds: number) => ({ ...nodata, negativeTtlSeconds: seconds });
  type Until = readonly [what: string, world: readonly Partial<ResolverView>[], until: unknown];
  const times: readonly Until[] = [
    ['full minutes', [kept(29.5)], '2026-11-21T10:01:00.000Z'],
    ['the next minute', [kept(30)], '2026-11-21T10:02:00.000Z'],
    ['the latest of all', [kept(60), { a: records('1.1.1.1') }], '2026-11-21T10:06:00.000Z'],
    ['a day at most', [kept(9_999_999)], '2026-11-22T10:01:00.000Z'],
    ['the zone’s limit', [{}], '2026-11-21T10:11:00.000Z'],
  ];
  it.each(times)('is cached until %s', (_, world, until) => {
    const servers = [{ ...right, soa }] as const;
    const views = world.map((shown, index) => resolver({ server: `${index}`, ...shown }));
    const { findings } = diagnose(observed(SUB, servers, { at, world: views }), expectedFor(SUB));
    expect(findings).toMatchObject([{ code: 'old_answer_cached', until }]);
  });

  it('has an unknown end when no resolver gave a TTL', () => {
    const world = [resolver()];
    const observation = observed(SUB, [{ ...right, soa: null }], { world });
    expect(diagnose(observation, expectedFor(SUB)).findings).toMatchObject([{ until: null }]);
    const timeless = { ...observation, at: '', world: [resolver({ a: records('1.1.1.1') })] };
    expect(diagnose(timeless, expectedFor(SUB)).findings).toMatchObject([{ until: null }]);
  });
});
