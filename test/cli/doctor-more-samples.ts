/** More diagnoses and their pages: spellings, widths and partial results. */
import type { Report } from '../../src/cli/shown.ts';
import { finding, report, target } from './doctor-reports.ts';
import { right } from './doctor-samples.ts';

const apex = { type: 'ALIAS', name: '@', value: target, ttl: 3_600n } as const;
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
    [`  CNAME  xn--bcher-kva (bücher)  ${target}  3600`],
  ],
  [
    'the record type in the form of the provider for an apex',
    report({
      record: apex,
      provider: { name: 'easyDNS', apex: 'ANAME', where: 'At easyDNS: DNS.' },
    }),
    [`  ANAME  @     ${target}  3600`, '  easyDNS calls it ANAME.'],
  ],
  [
    'an apex at a provider without a suitable record type',
    report({ record: apex, provider: { name: 'GoDaddy', apex: null, where: 'At GoDaddy: DNS.' } }),
    [
      `  ALIAS  @     ${target}  3600`,
      '  ALIAS is also called ANAME or CNAME flattening; GoDaddy is not known to',
      '  support it.',
    ],
  ],
  [
    'the expected value when it exceeds the record above',
    report({ findings: [finding({ expected: 'No MX records.' })] }),
    ['  expected  No MX records.'],
  ],
];
