/** src/dns/examine.ts produces a diagnosis; the CLI reads it. */
import { z } from 'zod';
import { time, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { component, explainedEnum } from './common.ts';
import { dnsChanges, dnsRecord, finding, provider } from './domains.ts';
import { docsDomain } from './examples.ts';

/** The handler parses the target (src/dns/examine.ts). */
export const diagnosisQuery = z.strictObject({
  target: z.string().max(2_048, 'is too long').optional().meta({
    description:
      'Host name that the record must point to. Optional if the host name is attached to a project',
    example: docsDomain.record.value,
  }),
  reach: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'Whether to query the addresses of the host name at ports 80 and 443, and the certificate authorities',
    ),
});

const names = z.array(z.string());
/** A TTL has 31 bits (RFC 2181, 8). */
const seconds = () => wholeNumber({ min: 0, max: 2_147_483_647 });
const count = seconds;

/** With tenths. src/net/json.ts parses whole numbers as bigint, so both kinds are accepted. */
function milliseconds() {
  return z
    .union([z.number(), z.bigint().transform(Number)])
    .register(wireTypes, { type: 'number', minimum: 0 });
}

const answerKind = z
  .enum(['records', 'nodata', 'nxdomain', 'servfail', 'refused', 'timeout'])
  .describe(
    '`nodata`: the name exists without such a record. The last three kinds are inconclusive',
  );

/** `records` and `ttlSeconds` are set only for kind `records`. */
const answerOf = <R extends z.ZodType>(record: R) => ({
  kind: answerKind,
  records: z.array(record).optional(),
  ttlSeconds: seconds().optional(),
  cutOff: z
    .literal(true)
    .optional()
    .describe('With `timeout`: our own limits ended the query, so the server may be fine'),
});

const answer = component('DnsAnswer', "A server's answer to one query", answerOf(z.string()));

const shown = { cname: answer, a: answer, aaaa: answer };
/** Null if no answer came. */
const rttMs = z
  .nullable(milliseconds())
  .describe('Round-trip time of the first answer, in milliseconds');

const serverState = explainedEnum('ServerState', 'Health of a server', {
  answers: 'It is authoritative for the zone and answers',
  refused: 'It refuses queries for the zone',
  not_authoritative: 'It answers, but not authoritatively',
  servfail: 'It fails with SERVFAIL',
  malformed: 'It sends malformed DNS messages',
  timeout: 'It did not answer in time',
  no_address: 'Its name has no address',
  alias_name: 'Its name is an alias, which is not allowed (RFC 2181, 10.3)',
  lookup_failed: 'Its name cannot be looked up: our resolver gives SERVFAIL',
  reserved_address: 'Its address is reserved and unreachable from the internet',
  not_asked: 'It was not queried because of our own rate limits',
});

const serverView = component('ServerView', "One name server's answers about the host name", {
  server: z.string().describe('Name or address of the server'),
  address: z.nullable(z.string()),
  state: serverState.describe('Based on its answers about the host name'),
  aa: z.nullable(z.boolean()).describe('AA flag: the answer is authoritative'),
  rcode: z.nullable(wholeNumber({ min: 0, max: 4_095 })),
  ...shown,
  mx: z.nullable(answer).describe('Null if not queried'),
  txt: z.nullable(answer).describe('Null if not queried'),
  soa: z.nullable(
    z.object({
      serial: wholeNumber({ min: 0, max: 4_294_967_295 }),
      negativeTtlSeconds: seconds().describe('Negative-caching TTL, in seconds'),
    }),
  ),
  rttMs,
});

const extendedError = component('ExtendedError', 'Extended DNS Error (RFC 8914)', {
  code: wholeNumber({ min: 0, max: 65_535 }),
  text: z.string(),
});

/** One resolver of the propagation check (src/core/diagnosis/observation.ts). */
const resolverView = component('ResolverView', "One resolver's answers about the host name", {
  server: z.string().describe('Address of the resolver'),
  ...shown,
  negativeTtlSeconds: z
    .nullable(seconds())
    .describe('How long it caches a negative answer, in seconds'),
  authenticated: z.boolean().describe('AD flag: it validated the DNSSEC signatures'),
  answersUnchecked: z
    .nullable(z.boolean())
    .describe('Whether it answers when DNSSEC validation is disabled'),
  errors: z.array(extendedError),
  rttMs,
});

/** Beyond the host name (src/core/diagnosis/observation.ts). */
const validationView = component(
  'ValidationView',
  "A resolver's validation of the zone's signatures",
  {
    server: z.string().describe('Its address'),
    name: z.string(),
    type: z.enum(['SOA', 'CAA']).describe('SOA while the record is wrong'),
    outcome: answerKind,
    unchecked: answerKind.optional().describe('The answer without validation'),
    answersUnchecked: z
      .nullable(z.boolean())
      .describe('Whether it answers with validation disabled'),
    errors: z.array(extendedError),
  },
);

const caaRecord = component('CaaRecord', 'CAA record (RFC 8659, 4.1)', {
  flags: wholeNumber({ min: 0, max: 255 }),
  tag: z.string(),
  value: z.string(),
});

/** One name on the climb from the host name toward the root (RFC 8659, 3). */
const caaLevel = component('CaaLevel', 'CAA records at one level of the lookup', {
  name: z.string(),
  publishedAt: z
    .string()
    .optional()
    .describe('The name after following its aliases, where the records are published'),
  endless: z.literal(true).optional().describe('Its aliases form a loop'),
  answer: z.object(answerOf(caaRecord)),
  servers: z
    .array(
      z.object({
        server: z.string(),
        publishedAt: z.string().optional(),
        endless: z.literal(true).optional(),
        answer: z.object(answerOf(caaRecord)),
      }),
    )
    .optional()
    .describe('The answer of each name server, if they differ'),
});

/** The name servers only for `delegated`. */
const delegation = component('Delegation', "Delegation of the host name's zone", {
  kind: explainedEnum('DelegationKind', 'Whether the parent zone delegates the zone', {
    delegated: 'It lists name servers',
    undelegated: 'The registry has the domain, but without name servers',
    unregistered: 'The domain is not in the DNS of its registry',
  }),
  zone: z.string(),
  parent: z.string().describe('The parent zone'),
  atParent: names.optional().describe('The name servers listed by the parent zone'),
  atZone: z.nullable(names).optional().describe('The name servers listed by the zone itself'),
  ttlSeconds: seconds().optional(),
  sameServers: z
    .literal(true)
    .optional()
    .describe('The name servers of the parent zone have this zone, too'),
  glue: z
    .array(z.object({ server: z.string(), atParent: names, atZone: names }))
    .optional()
    .describe('Name servers whose address at the parent zone is not in the zone'),
});

// src/certificates/reach/examine-reach.ts produces it; the CLI reads it.

const inWords = {
  summary: z.string().describe('One or two sentences for people'),
  isProblem: z.boolean().describe('Someone has to act'),
};

const reachAnswer = component('ReachAnswer', 'One HTTP response', {
  url: z.string().describe('Without the token'),
  address: z.string(),
  status: wholeNumber({ min: 0, max: 999 }),
  server: z.nullable(z.string()).describe('The `Server` header'),
  proxy: z
    .nullable(z.object({ name: z.string(), header: z.string() }))
    .describe('A proxy in between, by the header that it adds'),
});

const addressReach = component('AddressReach', 'What one address answers for the challenge path', {
  address: z.string(),
  port: wholeNumber({ min: 1, max: 65_535 }),
  scheme: z.enum(['http', 'https']),
  outcome: explainedEnum('ReachOutcome', 'Who answered, or why there was no answer', {
    edge: 'Our edge, for this name',
    other_answer: 'Another server',
    refused: 'The connection was refused',
    timeout: 'No answer in time',
    no_route: 'We have no route to it',
    reserved: 'It cannot be reached from the internet, so it was not queried',
    no_tls: 'No TLS handshake for this name',
    no_http: 'The answer was not HTTP',
    bad_redirect: 'A redirect that CAs do not follow',
  }),
  redirect: z
    .nullable(z.object({ problem: z.string(), to: z.string() }))
    .describe('The redirect that was not followed'),
  lastUrl: z.nullable(z.string()).describe('Where the last request went, without the token'),
  answers: z.array(reachAnswer).describe('The address’s own first, then those after redirects'),
  ...inWords,
});

const authorityReach = component('AuthorityReach', 'A CA in use', {
  directoryUrl: z.nullable(z.string()).describe('Null: this installation issues the certificates'),
  directoryAnswers: z.nullable(z.boolean()).describe('Null: not queried'),
  statusPage: z
    .nullable(z.object({ url: z.string(), status: z.string(), isOperational: z.boolean() }))
    .describe('Null: none that is known, or none that answered'),
  noOrderBefore: z
    .nullable(time())
    .describe('When its rate limits allow the next order for this name; null: now'),
  refused: z
    .nullable(z.object({ type: z.string(), detail: z.string() }))
    .describe('Why it refused the latest order for this name'),
  ...inWords,
});

const proxyAnswer = component('ProxyAnswer', 'One address of a proxy in front of the name', {
  address: z.string(),
  result: explainedEnum('ProxyResult', 'What a proxy does with a challenge', {
    edge: 'It passes it on to our edge',
    other: 'Another server, or the proxy itself, answers',
    redirect: 'It redirects to where no CA follows',
    none: 'No response',
    unseen: 'Not queried: this machine cannot recognize our edge',
  }),
  status: z.nullable(wholeNumber({ min: 0, max: 999 })),
});

const reach = component('Reach', 'What a certificate needs besides DNS', {
  addresses: z.array(addressReach).describe('At ports 80 and 443; empty if the name has none'),
  authorities: z
    .array(authorityReach)
    .describe('In order of preference; empty if another edge obtains the certificates'),
});

const observation = component('Observation', 'Raw DNS answers, per name server', {
  at: time(),
  view: explainedEnum('ViewKind', 'Which servers were queried', {
    authoritative: "The zone's own name servers",
    recursive: 'The configured resolvers',
  }).describe('Which answers the verdict is based on'),
  whyRecursive: z
    .nullable(
      explainedEnum('WhyRecursive', 'Why only resolvers were queried', {
        configured: 'The operator configured it',
        port_53_blocked: 'No name server answers; outgoing port 53 is probably blocked',
      }),
    )
    .describe('Null if the zone’s own name servers were queried'),
  delegation: z
    .nullable(delegation)
    .describe('Null if the parent zone was not queried or did not answer'),
  servers: z.array(serverView).describe('One entry per address of each name server'),
  world: z.array(resolverView).describe('Empty unless the name servers have the right records'),
  signatures: z.array(validationView).optional().describe('Missing if nothing was queried'),
  caa: z.nullable(z.array(caaLevel)).describe('Closest level first'),
  resolversWork: z
    .boolean()
    .optional()
    .describe('Set if a failure of our resolvers left no answer. `false`: they fail for all'),
  plainAnswer: z
    .literal(true)
    .optional()
    .describe('Only queries in lower case without EDNS find the name'),
  proxy: z
    .array(proxyAnswer)
    .optional()
    .describe('Only if all that the name shows is a proxy of its DNS provider'),
  targetAddresses: names.describe('The addresses that an apex domain must resolve to'),
  cost: z
    .object({ questions: count(), bytes: count(), ms: milliseconds() })
    .describe('Messages sent, bytes received and time taken'),
});

/** Also read by `signpost doctor`. The most important finding comes first. */
export const diagnosis = component('Diagnosis', "Diagnosis of a host name's DNS", {
  hostname: z.string(),
  unicodeHostname: z.string(),
  target: z.string().describe('Host name that the record must point to'),
  verdict: explainedEnum('Verdict', 'Result of the check', {
    right: 'The DNS is set up correctly',
    wrong: 'The DNS is set up incorrectly',
    unknown: 'The DNS could not be checked',
  }).describe('Unanswered queries never lead to `wrong`'),
  record: dnsRecord,
  provider: z.nullable(provider).describe('DNS provider of the zone, if known'),
  changes: dnsChanges,
  findings: z.array(finding).describe('Findings, the most important first'),
  observation: observation.describe('The DNS answers behind the findings'),
  reach: reach.optional().describe('With `reach=true`'),
});

const none = { kind: 'nxdomain' };

/** The record of docs.example.com is missing. */
export const docsDiagnosis = {
  hostname: docsDomain.hostname,
  unicodeHostname: docsDomain.unicodeHostname,
  target: docsDomain.record.value,
  verdict: 'wrong',
  record: docsDomain.record,
  provider: null,
  changes: docsDomain.changes,
  findings: docsDomain.findings,
  observation: {
    at: '2026-11-20T12:00:01.250Z',
    view: 'authoritative',
    whyRecursive: null,
    delegation: {
      kind: 'delegated',
      zone: 'example.com',
      parent: 'com',
      atParent: ['ns1.example.com'],
      atZone: ['ns1.example.com'],
      ttlSeconds: 172_800,
    },
    servers: [
      {
        server: 'ns1.example.com',
        address: '192.0.2.53',
        state: 'answers',
        aa: true,
        rcode: 3,
        cname: none,
        a: none,
        aaaa: none,
        mx: null,
        txt: null,
        soa: { serial: 2_026_112_001, negativeTtlSeconds: 300 },
        rttMs: 12.5,
      },
    ],
    world: [],
    caa: [{ name: 'example.com', answer: { kind: 'nodata' } }],
    targetAddresses: [],
    cost: { questions: 11, bytes: 1_630, ms: 38.2 },
  },
};
