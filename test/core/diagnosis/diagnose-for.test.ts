/** With several CAs, CAA only blocks when it forbids all of them. */
import { describe, expect, it } from 'vitest';
import { diagnoseForAny } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import {
  expectedFor,
  nodata,
  nxdomain,
  observed,
  records,
  server,
  target,
  timeout,
} from '../support/observations.ts';

const SUB = 'docs.example.com';
const APEX = 'example.com';
const first = { issuerDomains: ['first.example'], accountUri: null, method: 'http-01' } as const;
const second = {
  issuerDomains: ['second.example'],
  accountUri: 'https://second.example/acct/2',
  method: 'http-01',
} as const;
const { ca: _, ...common } = expectedFor(SUB);
const expected = { ...common, authorities: [first, second] };

const right = server({ cname: records(target) });
const missing = server({ cname: nxdomain, a: nxdomain, aaaa: nxdomain });

function observationOf(shows: typeof right, ...values: readonly string[]) {
  const [one, ...more] = values.map((value) => ({ flags: 0, tag: 'issue', value }));
  const answer = one === undefined ? nodata : records(one, ...more);
  const caa = [
    { name: SUB, answer: nodata },
    { name: APEX, answer },
  ];
  return observed(SUB, [shows], { caa });
}

type Row = readonly [string, readonly string[], forbidden: readonly number[], blocks: boolean];
const rows: readonly Row[] = [
  ['there is no set', [], [], false],
  ['both are named', ['first.example', 'second.example'], [], false],
  ['only the first is named', ['first.example'], [1], false],
  ['only the second is named', ['second.example'], [0], false],
  [
    'the second’s account is named',
    [`second.example; accounturi=${second.accountUri}`],
    [0],
    false,
  ],
  ['another account is named', ['second.example; accounturi=https://x.example'], [0, 1], true],
  ['neither is named', ['other.example'], [0, 1], true],
  ['no CA is allowed', [';'], [0, 1], true],
];

describe('with two CAs', () => {
  it.each(rows)('if %s, only both together block', (_what, values, forbidden, blocks) => {
    const diagnosis = diagnoseForAny(observationOf(right, ...values), expected);
    expect(diagnosis.forbidden).toEqual(forbidden);
    expect(diagnosis.verdict).toBe(blocks ? 'wrong' : 'right');
    expect(diagnosis.findings.some(({ code }) => code === 'caa_blocks')).toBe(blocks);
  });

  it('a missing record is reported once, with the CAA finding beside it', () => {
    const diagnosis = diagnoseForAny(observationOf(missing, 'other.example'), expected);
    expect(diagnosis.findings.map(({ code }) => code)).toEqual(['record_missing', 'caa_blocks']);
    const allowed = diagnoseForAny(observationOf(missing, 'second.example'), expected);
    expect(allowed.findings.map(({ code }) => code)).toEqual(['record_missing']);
  });

  it('a failed CAA lookup blocks both as unknown', () => {
    const silent = observed(SUB, [right], { caa: [{ name: SUB, answer: timeout }] });
    expect(diagnoseForAny(silent, expected)).toMatchObject({ verdict: 'unknown', forbidden: [] });
  });

  it('the finding names a record for each; either one is sufficient', () => {
    const { findings } = diagnoseForAny(observationOf(right, 'other.example'), expected);
    const [finding] = findings;
    if (finding === undefined) throw new Error('no finding');
    expect(explain(finding)).toMatchObject({
      summary: `The CAA records of ${APEX} do not let either of our certificate authorities issue for ${SUB}.`,
      expected: 'CAA 0 issue "first.example" or 0 issue "second.example"',
      action: `Add this CAA record at ${APEX}, beside the existing ones: 0 issue "first.example" – or, for our second certificate authority: 0 issue "second.example"`,
    });
  });

  it('a single CA is diagnosed as without a fallback', () => {
    const alone = diagnoseForAny(observationOf(right, 'other.example'), {
      ...common,
      authorities: [first],
    });
    expect(alone).toMatchObject({ verdict: 'wrong', forbidden: [0] });
    expect(alone.findings[0]).not.toHaveProperty('orToAdd');
  });
});
