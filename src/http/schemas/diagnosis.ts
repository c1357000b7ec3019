/** What the doctor says of a host name, as a schema; src/dns/examine.ts makes it, the command line reads it. */
import { z } from 'zod';
import { time, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { explainedEnum } from './common.ts';
import { dnsRecord, finding, provider } from './domains.ts';
import { docsDomain } from './examples.ts';
import { reach } from './reach.ts';

/** Query of `GET /v1/diagnosis/{hostname}`. The target is parsed by the handler (src/dns/examine.ts). */
export const diagnosisQuery = z.strictObject({
  target: z.string().max(2_048, 'is too long').optional().meta({
    description:
      'The host name that the record must point to; may be left out where a project has the host name attached',
    example: docsDomain.record.value,
  }),
  reach: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description:
      '`true`: what the name’s addresses answer on ports 80 and 443 is asked, too, and how the certificate authority is; up to 10 seconds more',
  }),
});

/** A field's description, for `.meta()`. */
const said = (description: string) => ({ description });
const names = z.array(z.string());
/** 31 bits: a TTL has no more (RFC 2181, 8), and nothing that is counted here comes near. */
const seconds = () => wholeNumber({ min: 0, max: 2_147_483_647 });
/** Bounded like seconds; never negative. */
const count = seconds;

/**
 * Milliseconds with tenths. A body that is parsed (src/net/json.ts) has a bigint where there is no fraction, so that both
 * kinds of number are taken; the result is a number.
 */
function milliseconds() {
  return z
    .union([z.number(), z.bigint().transform(Number)])
    .register(wireTypes, { type: 'number', minimum: 0 });
}

const answerKind = z
  .enum(['records', 'nodata', 'nxdomain', 'servfail', 'refused', 'timeout'])
  .meta(
    said('By the last three nothing is known; `nodata`: the name exists, without such a record'),
  );

/** `records` and `ttlSeconds` (seconds) are there for the kind `records` only. */
const answerOf = <R extends z.ZodType>(record: R) => ({
  kind: answerKind,
  records: z.array(record).optional(),
  ttlSeconds: seconds().optional(),
  ours: z
    .literal(true)
    .optional()
    .meta(said('Of a `timeout`: our own limits for one check ended it, not the server’s silence')),
});

const answer = z
  .object(answerOf(z.string()))
  .meta({ id: 'DnsAnswer', description: 'What a server answered to one question' });

/** The three questions that every server is asked. */
const shown = { cname: answer, a: answer, aaaa: answer };
/** Milliseconds; null where no answer came. */
const rttMs = z.nullable(milliseconds()).meta(said('Until its first answer'));

const serverState = explainedEnum('ServerState', 'How a server behaved', {
  answers: 'It knows the zone',
  refused: 'It declines to answer for the zone',
  not_authoritative: 'It answers without being responsible',
  servfail: 'It fails (SERVFAIL)',
  malformed: 'What it sends is no DNS message',
  timeout: 'It is silent',
  no_address: 'Its name has no address',
  alias_name: 'Its name is an alias, which it must not be',
  reserved_address: 'Its address cannot be reached by anybody',
  not_asked: 'Our own limits kept us from asking, or from waiting',
});

/** One address of one name server; `address` is null where it has none. */
const serverView = z
  .object({
    server: z.string().meta(said('Its name, or its address')),
    address: z.nullable(z.string()),
    state: serverState.meta(said('By its answers about the host name')),
    aa: z.nullable(z.boolean()).meta(said('The AA flag: it is responsible for the zone')),
    rcode: z.nullable(wholeNumber({ min: 0, max: 4_095 })),
    ...shown,
    mx: z.nullable(answer).meta(said('Null: not asked')),
    txt: z.nullable(answer).meta(said('Null: not asked')),
    soa: z.nullable(
      z.object({
        serial: wholeNumber({ min: 0, max: 4_294_967_295 }),
        negativeTtlSeconds: seconds().meta(said('How long "there is none" may be kept')),
      }),
    ),
    rttMs,
  })
  .meta({ id: 'ServerView', description: 'What one name server shows at the host name' });

const extendedError = z
  .object({ code: wholeNumber({ min: 0, max: 65_535 }), text: z.string() })
  .meta({ id: 'ExtendedError', description: 'Why a resolver failed (RFC 8914)' });

/** One recursive server that is asked for what the world sees (src/core/diagnosis/observation.ts). */
const resolverView = z
  .object({
    server: z.string().meta(said('Its address')),
    ...shown,
    negativeTtlSeconds: z.nullable(seconds()).meta(said('It keeps a "there is none" so long')),
    authenticated: z.boolean().meta(said('The AD flag: it has checked the signatures')),
    answersUnchecked: z
      .nullable(z.boolean())
      .meta(said('Whether it answers without checking signatures')),
    errors: z.array(extendedError),
    rttMs,
  })
  .meta({ id: 'ResolverView', description: 'What a recursive server answers' });

/** A question beyond the host name, by which signatures are checked (src/core/diagnosis/observation.ts). */
const validationView = z
  .object({
    server: z.string().meta(said('Its address')),
    name: z.string(),
    type: z.enum(['SOA', 'CAA']).meta(said('SOA where the record is wrong')),
    outcome: answerKind,
    unchecked: answerKind.optional().meta(said('What came without the check')),
    answersUnchecked: z
      .nullable(z.boolean())
      .meta(said('Whether it answers without checking signatures')),
    errors: z.array(extendedError),
  })
  .meta({ id: 'ValidationView', description: 'What a resolver makes of signatures of the zone' });

const caaRecord = z
  .object({
    flags: wholeNumber({ min: 0, max: 255 }),
    tag: z.string(),
    value: z.string(),
  })
  .meta({ id: 'CaaRecord', description: 'A CAA record (RFC 8659, 4.1)' });

/** A name on the way from the host name up, with the set that is published there (RFC 8659, 3). */
const caaSaid = {
  publishedAt: z
    .string()
    .optional()
    .meta(said('Where the aliases of the name lead, and where the set is published')),
  endless: z.boolean().optional().meta(said('Its aliases lead in a circle')),
  answer: z.object(answerOf(caaRecord)),
};

const caaLevel = z
  .object({
    name: z.string(),
    ...caaSaid,
    servers: z
      .array(z.object({ server: z.string(), ...caaSaid }))
      .optional()
      .meta(said('What each name server says, where they differ')),
  })
  .meta({ id: 'CaaLevel', description: 'The CAA records at one step of the climb' });

/** The zone that the host name is in. For the other two kinds, the name servers are left out. */
const delegation = z
  .object({
    kind: z.enum(['delegated', 'unregistered', 'undelegated']),
    zone: z.string(),
    parent: z.string().meta(said('The zone above')),
    atParent: names.optional().meta(said('The name servers by the zone above')),
    atZone: z.nullable(names).optional().meta(said('The same by the zone itself')),
    ttlSeconds: seconds().optional(),
  })
  .meta({ id: 'Delegation', description: 'Who is responsible for the host name' });

/** What one check saw, without what was asked only to word the findings. */
const observation = z
  .object({
    at: time(),
    view: explainedEnum('ViewKind', 'Who was asked', {
      authoritative: "The zone's own name servers",
      recursive: 'The configured resolvers',
    }).meta(said('Whose word the verdict follows')),
    whyRecursive: z
      .nullable(
        explainedEnum('WhyRecursive', 'Why only resolvers were asked', {
          configured: 'The platform’s operator has it so',
          port_53_blocked: 'No name server answers us: our port 53 is perhaps blocked',
        }),
      )
      .meta(said('Null: the zone’s own servers were asked')),
    delegation: z.nullable(delegation).meta(said('Null: the zone above was not asked, or silent')),
    servers: z.array(serverView).meta(said('One for each address of each name server')),
    world: z.array(resolverView).meta(said('Empty unless the servers have it right')),
    signatures: z
      .array(validationView)
      .optional()
      .meta(said('What resolvers make of the zone and of CAA; left out where none was asked')),
    caa: z.nullable(z.array(caaLevel)).meta(said('The nearest level first')),
    targetAddresses: names.meta(said('What an apex must show')),
    cost: z
      .object({ questions: count(), bytes: count(), ms: milliseconds() })
      .meta(said('Messages sent, bytes received, time taken')),
  })
  .meta({ id: 'Observation', description: 'What was seen of the DNS, name server by name server' });

/**
 * Answer of `GET /v1/diagnosis/{hostname}`; also what `signpost doctor` reads, from the service or from its own check.
 * Findings are in order, the headline first.
 */
export const diagnosis = z
  .object({
    hostname: z.string(),
    unicodeHostname: z.string(),
    target: z.string().meta(said('What the record must point to')),
    verdict: explainedEnum('Verdict', 'What the check says', {
      right: 'It is set up right',
      wrong: 'It is not',
      unknown: 'It is unknown',
    }).meta(said('A server without a usable answer never makes it `wrong`')),
    record: dnsRecord,
    provider: z.nullable(provider).meta(said('Who runs the name servers, where that is known')),
    findings: z.array(finding).meta(said('What is worth saying, the headline first')),
    observation: observation.meta(said('The evidence')),
    reach: reach.optional().meta(said('With `reach=true` only')),
  })
  .meta({ id: 'Diagnosis', description: 'What is right and wrong in the DNS of a host name' });

const none = { kind: 'nxdomain' };

/** The example of the OpenAPI document: the record of docs.example.com is missing. */
export const docsDiagnosis = {
  hostname: docsDomain.hostname,
  unicodeHostname: docsDomain.unicodeHostname,
  target: docsDomain.record.value,
  verdict: 'wrong',
  record: docsDomain.record,
  provider: null,
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
