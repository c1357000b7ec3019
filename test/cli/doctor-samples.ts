/** Diagnoses of every kind and their pages. */
import type { Report } from '../../src/cli/shown.ts';
import {
  finding,
  noLinks,
  nxdomain,
  records,
  report,
  resolver,
  server,
  target,
  timeout,
} from './doctor-reports.ts';

const silent = {
  state: 'timeout',
  address: '2001:db8:1234:5678:9abc:def0:1234:5678',
  aa: null,
  rcode: null,
  cname: timeout,
  a: timeout,
  aaaa: timeout,
  soa: null,
  rttMs: null,
} as const;
const bothServers = [
  server('ns1.shop.test', { cname: records(target) }),
  server('ns2.shop.test', { cname: records(target) }),
];
/** Both servers have it. */
export const right = report({
  verdict: 'right',
  findings: [],
  observation: { servers: bothServers },
});
const apex = {
  hostname: 'shop.test',
  unicodeHostname: 'shop.test',
  record: { type: 'ALIAS', name: '@', value: target, ttl: 3_600n },
} as const;

/** The title, the diagnosis, and lines of its page in order at 80 columns. */
export const samples: readonly (readonly [
  what: string,
  report: Report,
  lines: readonly string[],
])[] = [
  [
    'no record to create and no finding for a correct domain',
    right,
    [
      '✓ docs.shop.test is set up correctly',
      `  It points to ${target}.`,
      `  ✓ CNAME ${target}, TTL 5 min`,
    ],
  ],
  [
    'disagreeing servers in groups by answer',
    report({
      observation: {
        servers: [
          ...bothServers,
          server('ns3.shop.test', { a: records('192.0.2.8', '192.0.2.7') }),
          server('ns4.shop.test', { a: records('192.0.2.7', '192.0.2.8') }),
          server('ns5.shop.test', { cname: records(target), aaaa: timeout }),
        ],
      },
    }),
    [
      `  ✓ CNAME ${target}, TTL 5 min`,
      '    ns2.shop.test  192.0.2.53  answers  AA  NOERROR  2026112001  13',
      '  ✗ A 192.0.2.7, 192.0.2.8, TTL 5 min',
      '    ns4.shop.test  192.0.2.53  answers  AA  NOERROR  2026112001  13',
      `  ✓ CNAME ${target}, TTL 5 min; AAAA: no answer in`,
      '    time',
    ],
  ],
  [
    'a server that is too wide for one line on two, untruncated',
    report({ observation: { servers: [server('ns1.a-long-name.example.net', silent)] } }),
    [
      '  ? no answer in time',
      '    ns1.a-long-name.example.net  2001:db8:1234:5678:9abc:def0:1234:5678',
      '      silent',
    ],
  ],
  [
    'other MX and TXT records once',
    report({
      observation: {
        servers: [
          server('ns1.shop.test', { mx: records('10 mx.shop.test'), txt: records('v=spf1 -all') }),
        ],
      },
    }),
    [
      '  ✗ no such record (NODATA)',
      '    also there: MX 10 mx.shop.test, TTL 5 min',
      '    also there: TXT v=spf1 -all, TTL 5 min',
    ],
  ],
  [
    'that a check used resolvers, and why',
    report({
      verdict: 'unknown',
      observation: {
        view: 'recursive',
        whyRecursive: 'port_53_blocked',
        delegation: null,
        caa: null,
        servers: [server('192.0.2.1', silent)],
      },
    }),
    [
      '? docs.shop.test could not be checked',
      "  These answers come from resolvers and can be outdated: the zone's own name",
      '  servers did not answer, probably because outgoing port 53 is blocked here.',
      'Resolvers',
      '  ? no answer in time',
    ],
  ],
  [
    'DNSSEC validation, cache and errors of resolvers',
    report({
      observation: {
        world: [
          resolver(),
          resolver({
            server: '192.0.2.2',
            cname: nxdomain,
            a: nxdomain,
            aaaa: nxdomain,
            negativeTtlSeconds: 1_800,
            authenticated: false,
            answersUnchecked: true,
            errors: [{ code: 9, text: 'no SEP' }],
          }),
        ],
      },
    }),
    [
      'What public resolvers see',
      `  ✓ CNAME ${target}, TTL 5 min`,
      '    192.0.2.1 · AD: DNSSEC validated · 3.2 ms',
      '  ✗ no such name (NXDOMAIN)',
      '    192.0.2.2 · no AD · 3.2 ms',
      '      caches “no such record” for 30 min more',
      '      answers without DNSSEC validation',
      '      the DS record at the registrar matches no key of the zone (EDE 9: “no',
    ],
  ],
  [
    'an apex by its addresses, and the provider’s name for its record',
    report({
      ...apex,
      provider: {
        name: 'Cloudflare',
        apex: 'CNAME flattening',
        where: 'At Cloudflare: DNS.',
        ...noLinks,
      },
      observation: {
        targetAddresses: ['192.0.2.1'],
        servers: [
          server('ns1.shop.test', { a: records('192.0.2.1') }),
          server('ns2.shop.test', { a: records('192.0.2.1', '192.0.2.9') }),
        ],
      },
    }),
    [
      'Do this at Cloudflare',
      `  add  ALIAS  @     ${target}  3600`,
      '  At Cloudflare: DNS.',
      '  ✓ A 192.0.2.1, TTL 5 min',
      '  ✗ A 192.0.2.1, 192.0.2.9, TTL 5 min',
      '  run by    Cloudflare',
    ],
  ],
  [
    'both spellings of an internationalized name',
    report({ hostname: 'xn--bcher-kva.test', unicodeHostname: 'bücher.test' }),
    ['✗ xn--bcher-kva.test (bücher.test) is not set up correctly'],
  ],
  [
    'a zone whose parent lists other name servers',
    report({
      observation: {
        delegation: {
          kind: 'delegated',
          zone: 'shop.test',
          parent: 'test',
          atParent: ['ns1.shop.test'],
          atZone: ['ns2.shop.test'],
          ttlSeconds: 90,
        },
      },
    }),
    [
      '  zone      shop.test, delegated by test (TTL 90 s)',
      '  above     ns1.shop.test',
      '  itself    ns2.shop.test',
    ],
  ],
  [
    'an unregistered domain',
    report({
      observation: { delegation: { kind: 'unregistered', zone: 'shop.test', parent: 'test' } },
    }),
    ['  zone      shop.test is not registered, according to the registry of test'],
  ],
  [
    'CAA records in zone file format',
    report({
      observation: {
        caa: [
          { name: 'docs.shop.test', answer: { kind: 'timeout' } },
          {
            name: 'shop.test',
            answer: {
              kind: 'records',
              records: [{ flags: 0, tag: 'issue', value: 'ca.example' }],
              ttlSeconds: 60,
            },
          },
        ],
      },
    }),
    ['  docs.shop.test  no answer in time', '  shop.test       0 issue "ca.example"'],
  ],
  [
    'a long sentence completely',
    report({ findings: [finding({ action: `${'Wait a little. '.repeat(40)}Then look again.` })] }),
    ['✗ record_missing · blocks · the domain owner needs to act', '            look again.'],
  ],
  [
    'the likely mistake beside the finding',
    report({ findings: [finding({ hints: [{ text: 'The record exists as docs.shop.test.' }] })] }),
    [
      '  found     No record exists at docs.shop.test (NXDOMAIN).',
      '  likely    The record exists as docs.shop.test.',
    ],
  ],
  [
    'separate signs for warnings and notes',
    report({
      findings: [
        finding({ code: 'mail_at_name', severity: 'warns' }),
        finding({ code: 'dns_unknown', severity: 'informs', actor: 'dns_provider' }),
      ],
    }),
    [
      '! mail_at_name · warns · the domain owner needs to act',
      'i dns_unknown · informs · the DNS provider needs to act',
    ],
  ],
];
