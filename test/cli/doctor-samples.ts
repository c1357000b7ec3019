/** Diagnoses of every kind, and what their pages say. */
import type { Report } from '../../src/cli/shown.ts';
import {
  finding,
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

/** What is checked, the diagnosis, and lines of its page in their order, at 80 columns. */
export const samples: readonly (readonly [
  what: string,
  report: Report,
  lines: readonly string[],
])[] = [
  [
    'what is right has neither a record to create nor anything to mend',
    right,
    [
      '✓ docs.shop.test is set up correctly',
      `  It points to ${target}.`,
      `  ✓ CNAME ${target}, TTL 5 min`,
    ],
  ],
  [
    'servers that disagree stand apart, by what they show',
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
    'what is too wide for a line of its own gets two, and nothing is cut',
    report({ observation: { servers: [server('ns1.a-long-name.example.net', silent)] } }),
    [
      '  ? no answer in time',
      '    ns1.a-long-name.example.net  2001:db8:1234:5678:9abc:def0:1234:5678',
      '      silent',
    ],
  ],
  [
    'mail and texts beside it are told once',
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
    'a check through resolvers says so, and why',
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
    'resolvers: whether they check, what they remember, why they fail',
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
    'an apex is judged by addresses, and its record has other names elsewhere',
    report({
      ...apex,
      provider: { name: 'Cloudflare', apex: 'CNAME flattening', where: 'At Cloudflare: DNS.' },
      observation: {
        targetAddresses: ['192.0.2.1'],
        servers: [
          server('ns1.shop.test', { a: records('192.0.2.1') }),
          server('ns2.shop.test', { a: records('192.0.2.1', '192.0.2.9') }),
        ],
      },
    }),
    [
      `  CNAME  @     ${target}  3600`,
      '  Cloudflare turns a CNAME at an apex into addresses automatically (CNAME',
      '  flattening).',
      '  At Cloudflare: DNS.',
      '  ✓ A 192.0.2.1, TTL 5 min',
      '  ✗ A 192.0.2.1, 192.0.2.9, TTL 5 min',
      '  run by    Cloudflare',
    ],
  ],
  [
    'a name in another script is shown in both spellings',
    report({ hostname: 'xn--bcher-kva.test', unicodeHostname: 'bücher.test' }),
    ['✗ xn--bcher-kva.test (bücher.test) is not set up correctly'],
  ],
  [
    'a zone whose servers are listed differently above and below',
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
      '  zone      shop.test, delegated by test for 90 s',
      '  above     ns1.shop.test',
      '  itself    ns2.shop.test',
    ],
  ],
  [
    'a domain that nobody has registered',
    report({
      observation: { delegation: { kind: 'unregistered', zone: 'shop.test', parent: 'test' } },
    }),
    ['  zone      shop.test is not registered, according to the registry of test'],
  ],
  [
    'CAA records as a zone file has them',
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
    'a long sentence is told to its end',
    report({ findings: [finding({ action: `${'Wait a little. '.repeat(40)}Then look again.` })] }),
    ['✗ record_missing · blocks · the domain owner needs to act', '            look again.'],
  ],
  [
    'the likely slip stands beside what is found',
    report({ findings: [finding({ hints: [{ text: 'The record exists as docs.shop.test.' }] })] }),
    [
      '  found     No record exists at docs.shop.test (NXDOMAIN).',
      '  likely    The record exists as docs.shop.test.',
    ],
  ],
  [
    'what warns and what informs has a sign of its own',
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
