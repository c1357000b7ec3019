/** The doctor's page, from diagnoses written down by hand. */
import { expect, test } from 'vitest';
import { createPaint } from '../../src/cli/doctor/paint.ts';
import { renderReport } from '../../src/cli/doctor/render.ts';
import type { Report } from '../../src/cli/doctor/shown.ts';
import { nodata, nxdomain, report, server, timeout } from './doctor-reports.ts';
import { right, samples } from './doctor-samples.ts';

const page = (one: Report, columns = 80) =>
  renderReport(one, { columns, paint: createPaint(false) });

test('a name without its record is told whole, the headline and what to do first', () => {
  expect(page(report())).toBe(`✗ docs.shop.test is not set up right

The record it needs
  Type   Name  Value                                TTL
  CNAME  docs  k3jw5xqm2c7rtzna.edge.signpost.test  3600

✗ record_missing · blocks
  docs.shop.test does not exist in the DNS yet.
  expected  CNAME docs → k3jw5xqm2c7rtzna.edge.signpost.test, TTL 3600
  found     No record of any type has the name docs.shop.test (NXDOMAIN).
  to do     Create: CNAME docs → k3jw5xqm2c7rtzna.edge.signpost.test, TTL 3600.
            Most providers add the domain by themselves: enter only “docs” as
            the name.
  who acts  the owner of the domain

Name servers of shop.test
    Server         Address     State    AA  RCODE         Serial  ms
  ✗ no such name (NXDOMAIN)
    ns1.shop.test  192.0.2.53  answers  AA  NXDOMAIN  2026112001  13
    ns2.shop.test  192.0.2.53  answers  AA  NXDOMAIN  2026112001  13

Delegation
  zone      shop.test, delegated by test for 1 h
  servers   ns1.shop.test, ns2.shop.test

Who may issue certificates (CAA)
  docs.shop.test  no records
  shop.test       no records

11 questions, 38 ms, 1630 bytes · 2026-11-20T12:00:01Z
`);
});

test.each(samples)('%s', (_what, one, lines) => {
  const shown = page(one).split('\n');
  // In this order, whatever stands between them.
  let from = 0;
  for (const line of lines) {
    const at = shown.indexOf(line, from);
    if (at === -1) expect.fail(`“${line}” is not, or not there, in:\n${shown.join('\n')}`);
    from = at + 1;
  }
});

test('where every server has the record there is no table of one to create, whatever else is wrong', () => {
  for (const verdict of ['right', 'wrong', 'unknown'] as const) {
    expect(page({ ...right, verdict })).not.toContain('The record it needs');
  }
});

test('a host name that has no records of a kind is told so for each outcome', () => {
  const outcomes = { nodata, nxdomain, timeout };
  for (const answer of Object.values(outcomes)) {
    const one = server('ns1.shop.test', { cname: answer, a: answer, aaaa: answer });
    expect(page(report({ observation: { servers: [one] } }))).toMatch(/\n {2}[✗?] no /);
  }
});
