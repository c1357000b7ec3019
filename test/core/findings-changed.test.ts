import { expect, it } from 'vitest';
import type { Finding } from '../../src/core/diagnosis/findings.ts';
import { areEqual, findingsChanged } from '../../src/core/life/events.ts';

const about = { hostname: 'docs.example.com', target: 'x.edge.test' };
const missing: Finding = { code: 'record_missing', ...about, seen: 'nxdomain' };
const mismatch: Finding = { code: 'cname_mismatch', ...about, found: 'other.net' };
const cached = (until: string | null, shows = 'no record'): Finding => ({
  code: 'old_answer_cached',
  ...about,
  remembered: 'negative',
  resolvers: [{ server: '8.8.8.8', shows }],
  until,
});
const bogus = (code: number, text: string): Finding => ({
  code: 'dnssec_bogus',
  hostname: about.hostname,
  zone: 'example.com',
  errors: [{ code, text }],
});

it('the same findings in another order are unchanged', () => {
  const again: Finding = { found: 'other.net', ...about, code: 'cname_mismatch' };
  expect(findingsChanged([missing, mismatch], [again, missing])).toEqual([]);
});

it('a new finding appears and a missing one is cleared', () => {
  expect(findingsChanged([missing], [mismatch])).toEqual([
    { type: 'domain.findings_changed', appeared: [mismatch], cleared: [missing] },
  ]);
});

it('another value of the same code is a change', () => {
  const other: Finding = { ...missing, seen: 'nodata' };
  expect(findingsChanged([missing], [other])).toMatchObject([{ appeared: [other] }]);
  expect(findingsChanged([mismatch], [{ ...mismatch, found: 'third.net' }])).toHaveLength(1);
});

it("the rest of a cache time and a resolver's wording are not a change", () => {
  expect(findingsChanged([cached(null)], [cached('2026-11-21T10:00:00.000Z')])).toEqual([]);
  expect(findingsChanged([bogus(7, 'from 192.0.2.1')], [bogus(7, 'from 192.0.2.2')])).toEqual([]);
});

/** Each pair is one fault, seen twice. */
const seenTwice: readonly (readonly [what: string, before: Finding, after: Finding])[] = [
  ['the content of a cache', cached(null), cached(null, 'A 192.0.2.1')],
  ['a reason that a resolver gives only once', bogus(9, 'a'), bogus(6, 'a')],
  [
    'addresses that rotate',
    { code: 'apex_elsewhere', ...about, addresses: ['151.101.1.7'] },
    { code: 'apex_elsewhere', ...about, addresses: ['151.101.65.7'] },
  ],
  ['the kind of failure of a server', unreachable('timeout'), unreachable('no_address')],
  ['the answer of the slower server', behind('A 192.0.2.1'), behind('A 192.0.2.2')],
];

it.each(seenTwice)('%s is not a change but is stored', (_what, before, after) => {
  expect(findingsChanged([before], [after])).toEqual([]);
  expect(areEqual([before], [after])).toBe(false);
  expect(areEqual([before], [structuredClone(before)])).toBe(true);
});

it('another lagging server is a change', () => {
  const two: Finding = { ...behind('A 192.0.2.1'), right: ['ns1', 'ns2'], others: [] };
  expect(findingsChanged([behind('A 192.0.2.1')], [two])).toHaveLength(1);
});

function unreachable(outcome: 'timeout' | 'no_address'): Finding {
  const servers = [{ server: 'ns2', outcome }];
  return {
    code: 'name_server_unreachable',
    hostname: about.hostname,
    zone: 'example.com',
    servers,
  };
}

function behind(shows: string): Finding & { readonly code: 'name_servers_disagree' } {
  const others = [{ server: 'ns2', shows }];
  return { code: 'name_servers_disagree', ...about, right: ['ns1'], others };
}

it('additional evidence is a change', () => {
  const hinted: Finding = { ...missing, hints: [{ code: 'wrong_host', name: 'example.com' }] };
  expect(findingsChanged([missing], [hinted])).toHaveLength(1);
  expect(findingsChanged([hinted], [missing])).toHaveLength(1);
});
