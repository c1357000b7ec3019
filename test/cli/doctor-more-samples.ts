/** More diagnoses and their pages: spellings, widths and partial results. */
import type { ChangeShown, Report } from '../../src/cli/shown.ts';
import { finding, report, target } from './doctor-reports.ts';
import { right } from './doctor-samples.ts';

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
export const moreSamples: readonly (readonly [
  what: string,
  report: Report,
  lines: readonly string[],
])[] = [
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
