/** More diagnoses, and what their pages say: spellings, widths, and what is known in part. */
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
    'where CAA alone could not be told, the record is not blamed',
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
    'a name longer than its column has a line of its own, whole',
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
    'a name in another script stands in the table in both spellings',
    report({ record: { type: 'CNAME', name: 'xn--bcher-kva', value: target, ttl: 3_600n } }),
    [`  CNAME  xn--bcher-kva (bücher)  ${target}  3600`],
  ],
  [
    'an apex has the type that the form of its provider has',
    report({
      record: apex,
      provider: { name: 'easyDNS', apex: 'ANAME', where: 'At easyDNS: DNS.' },
    }),
    [`  ANAME  @     ${target}  3600`, '  easyDNS calls it ANAME.'],
  ],
  [
    'an apex at a provider without such a type',
    report({ record: apex, provider: { name: 'GoDaddy', apex: null, where: 'At GoDaddy: DNS.' } }),
    [
      `  ALIAS  @     ${target}  3600`,
      '  ALIAS is also called ANAME or CNAME flattening; GoDaddy is not known to',
      '  support it.',
    ],
  ],
  [
    'what is expected is told where it is more than the record above',
    report({ findings: [finding({ expected: 'No MX records.' })] }),
    ['  expected  No MX records.'],
  ],
];
