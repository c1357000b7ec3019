import { expect, test } from 'vitest';
import { renderReport } from '../../src/cli/doctor/render.ts';
import { createPaint } from '../../src/cli/layout.ts';
import type { ChangeShown, Report } from '../../src/cli/shown.ts';
import {
  finding,
  nodata,
  nxdomain,
  records,
  report,
  resolver,
  server,
  target,
  timeout,
} from './doctor-reports.ts';
import { right, samples } from './doctor-samples.ts';

/* More diagnoses and their pages: spellings, widths and partial results. */

const change: ChangeShown = {
  verb: 'add',
  type: 'CNAME',
  name: 'docs',
  value: target,
  ttl: 3_600,
  state: 'to_do',
  servers: [
    { name: 'ns1.shop.test', state: 'done', shows: 'no record' },
    { name: 'ns2.shop.test', state: 'to_do', shows: 'A 151.101.1.7' },
  ],
};
const longName = `docs.${'long-name-'.repeat(6)}.shop.test`;

/** As `samples`. */
const moreSamples: readonly (readonly [what: string, report: Report, lines: readonly string[]])[] =
  [
    [
      'that only the CAA check failed, not the record',
      report({
        ...right,
        verdict: 'unknown',
        findings: [finding({ code: 'caa_unknown', actor: 'dns_provider' })],
      }),
      [
        '? docs.shop.test points here, but its CAA records couldn’t be checked',
        '✗ caa_unknown · blocks · the DNS provider needs to act',
      ],
    ],
    [
      'a name that is longer than its column on a separate line',
      report({
        observation: {
          caa: [
            { name: longName, answer: { kind: 'nodata' } },
            { name: 'shop.test', answer: { kind: 'nodata' } },
          ],
        },
      }),
      [`  ${longName}`, `${' '.repeat(36)}no records`, `  shop.test${' '.repeat(25)}no records`],
    ],
    [
      'both spellings of an internationalized name in the table',
      report({ record: { type: 'CNAME', name: 'xn--bcher-kva', value: target, ttl: 3_600n } }),
      [`  add  CNAME  xn--bcher-kva (bücher)  ${target}  3600`],
    ],
    [
      'every change with its verb, its progress and its note',
      report({
        changes: [
          {
            ...change,
            verb: 'delete',
            type: 'A',
            value: '151.101.1.7',
            ttl: 300,
            state: 'spreading',
          },
          { ...change, note: 'Enter only “docs” as the name.' },
          { ...change, verb: 'change', was: 'old.example', state: 'unknown' },
        ],
      }),
      [
        '  delete  A      docs  151.101.1.7                                            300',
        '          Gone from 1 of 2 name servers',
        `  add     CNAME  docs  ${target}                    3600`,
        '          Missing on 1 of 2 name servers',
        '          Enter only “docs” as the name.',
        `  change  CNAME  docs  ${target} (now old.example)  3600`,
        '          Couldn’t check',
      ],
    ],
    [
      'an empty name, as some providers’ forms expect it',
      report({ changes: [{ ...change, name: '' }] }),
      [`  add  CNAME  (empty)  ${target}  3600`],
    ],
    [
      'the expected value when it exceeds the record above',
      report({ findings: [finding({ expected: 'No MX records.' })] }),
      ['  expected  No MX records.'],
    ],
  ];

const page = (one: Report, columns = 80) =>
  renderReport(one, { columns, paint: createPaint(false) });

test('A page about a missing record shows everything, the headline and the first step', () => {
  expect(page(report())).toBe(`✗ docs.shop.test is not set up correctly

Do this at your DNS provider
       Type   Name  Value                                TTL
  add  CNAME  docs  k3jw5xqm2c7rtzna.edge.signpost.test  3600
          Not found yet

✗ record_missing · blocks · the domain owner needs to act
  docs.shop.test does not exist in the DNS yet.
  found     No record exists at docs.shop.test (NXDOMAIN).
  to do     Create: CNAME docs → k3jw5xqm2c7rtzna.edge.signpost.test, TTL 3600.
            Most providers add the domain automatically: enter only “docs” as
            the name.

This was one check; run it again after a change. Attached domains are checked
automatically.

Name servers of shop.test
    Server         Address     State    AA  RCODE         Serial  ms
  ✗ no such name (NXDOMAIN)
    ns1.shop.test  192.0.2.53  answers  AA  NXDOMAIN  2026112001  13
    ns2.shop.test  192.0.2.53  answers  AA  NXDOMAIN  2026112001  13

Delegation
  zone      shop.test, delegated by test (TTL 1 h)
  servers   ns1.shop.test, ns2.shop.test

Who may issue certificates (CAA)
  docs.shop.test  no records
  shop.test       no records

11 queries, 38 ms, 1630 bytes · 2026-11-20T12:00:01Z
`);
});

test.each([...samples, ...moreSamples])('The page shows %s', (_what, one, lines) => {
  const shown = page(one).split('\n');
  // In this order, with anything in between.
  let from = 0;
  for (const line of lines) {
    const at = shown.indexOf(line, from);
    if (at === -1) expect.fail(`“${line}” is not, or not there, in:\n${shown.join('\n')}`);
    from = at + 1;
  }
});

test('A page shows no record to create when every server has it, whatever else is wrong', () => {
  for (const verdict of ['right', 'wrong', 'unknown'] as const) {
    expect(page({ ...right, verdict })).not.toContain('The record it needs');
  }
});

test('A page reports a name without records for each verdict', () => {
  const outcomes = { nodata, nxdomain, timeout };
  for (const answer of Object.values(outcomes)) {
    const one = server('ns1.shop.test', { cname: answer, a: answer, aaaa: answer });
    expect(page(report({ observation: { servers: [one] } }))).toMatch(/\n {2}[✗?] no /);
  }
});

test('A page about an unregistered domain shows neither a record nor name servers', () => {
  const delegation = { kind: 'unregistered', zone: 'shop.test', parent: 'test' } as const;
  const shown = page(report({ observation: { delegation } }));
  expect(shown).not.toContain('The record it needs');
  expect(shown).not.toContain('Name servers of');
  expect(shown).toContain('  expected  CNAME docs');
});

test('A page shows the common view of resolvers once, and each address once', () => {
  const servers = [server('192.0.2.1', { address: '192.0.2.1', cname: records(target) })];
  const view = { view: 'recursive', whyRecursive: 'configured', delegation: null } as const;
  for (const world of [[resolver()], []]) {
    const shown = page(report({ observation: { ...view, servers, world } }));
    expect(shown.match(/192\.0\.2\.1/g)).toHaveLength(1);
    expect(shown.match(/^ {2}✓ CNAME/gm)).toHaveLength(1);
  }
});

test('A page shows identical instructions once', () => {
  const alike = (code: string, action: string) => finding({ code, action });
  const shown = page(
    report({
      findings: [
        alike('conflicting_a', 'Delete the A record, then create: CNAME docs.'),
        alike('conflicting_aaaa', 'Delete the AAAA record, then create: CNAME docs.'),
        alike('record_missing', 'Delete the A record, then create: CNAME docs.'),
      ],
    }),
  );
  expect(shown.match(/to do .*/g)).toEqual([
    'to do     Delete the A record, then create: CNAME docs.',
    'to do     Delete the AAAA record, then do the same as for conflicting_a',
    'to do     same as for conflicting_a',
  ]);
  expect(shown.match(/^This was one check;/gm)).toHaveLength(1);
});

test('A page notes an unverified CA account beside its finding', () => {
  const warned = report({ findings: [finding(), finding({ code: 'caa_warns' })] });
  const paint = createPaint(false);
  const shown = renderReport(warned, { columns: 80, paint, accountUnknown: true });
  expect(shown.match(/note {6}This machine cannot verify that CA account/g)).toHaveLength(1);
  expect(page(warned)).not.toContain('note');
});

test('A page shows the expected record once, also at an apex', () => {
  const record = { type: 'ALIAS', name: '@', value: target, ttl: 3_600n } as const;
  const expected = `ALIAS @ → ${target}, TTL 3600 (ANAME or flattened CNAME at some providers)`;
  expect(page(report({ record, findings: [finding({ expected })] }))).not.toContain('expected');
});
