/** Random observations, also those that no honest network would cause. */
import fc from 'fast-check';
import type {
  CaaLevel,
  CaaRecord,
  Delegation,
  DnsAnswer,
  HttpsRecord,
  Nearby,
  Observation,
  ResolverView,
  ServerState,
  ServerView,
} from '../../../src/core/diagnosis/observation.ts';
import { target } from './observations.ts';

const silence: fc.Arbitrary<DnsAnswer<never>> = fc.constantFrom<DnsAnswer<never>>(
  { kind: 'servfail' },
  { kind: 'refused' },
  { kind: 'timeout' },
  { kind: 'timeout', cutOff: true },
);

const answer = <R>(record: fc.Arbitrary<R>): fc.Arbitrary<DnsAnswer<R>> =>
  fc.oneof(
    silence,
    fc.constantFrom<DnsAnswer<R>>({ kind: 'nodata' }, { kind: 'nxdomain' }),
    fc.tuple(record, fc.array(record, { maxLength: 2 }), fc.nat({ max: 2 ** 31 })).map(
      ([first, rest, ttlSeconds]): DnsAnswer<R> => ({
        kind: 'records',
        records: [first, ...rest],
        ttlSeconds,
      }),
    ),
  );

const name = fc.constantFrom(
  target,
  target.toUpperCase(),
  `${target}.example.com`,
  `https\\058\\047\\047${target}`,
  'docs.example.com',
  'other.example',
  '',
  '\\000.x',
);
const address = fc.constantFrom(
  '192.0.2.1',
  '192.0.2.2',
  '151.101.1.7',
  '104.16.0.1',
  '10.0.0.1',
  '2001:db8::1',
  '2001:DB8::0:1',
  '2606:4700::1',
  'x',
);
const text = fc.oneof(fc.string(), fc.constantFrom(target, `v=${target}`, 'hello'));
const errors = fc.array(fc.record({ code: fc.nat({ max: 30 }), text: fc.string() }), {
  maxLength: 2,
});
const states: readonly ServerState[] = [
  'answers',
  'answers',
  'answers',
  'refused',
  'not_authoritative',
  'servfail',
  'malformed',
  'timeout',
  'no_address',
  'alias_name',
  'lookup_failed',
  'reserved_address',
  'not_asked',
];
const serverNames = ['ns1.example.com', 'ns2.example.com', 'amy.ns.cloudflare.com', '192.0.2.53'];

const common = {
  server: fc.constantFrom(...serverNames),
  address: fc.option(address),
  aa: fc.option(fc.boolean()),
  rcode: fc.option(fc.nat({ max: 15 })),
  mx: fc.option(answer(fc.constantFrom('10 mx.example.net', '0 .', ''))),
  txt: fc.option(answer(text)),
  soa: fc.option(fc.record({ serial: fc.nat(), negativeTtlSeconds: fc.nat() })),
  rttMs: fc.option(fc.nat()),
};

const serverView: fc.Arbitrary<ServerView> = fc.record({
  ...common,
  state: fc.constantFrom(...states),
  cname: answer(name),
  a: answer(address),
  aaaa: answer(address),
});

/** A server without usable answers, or one that is not authoritative for the zone. */
export const silentView: fc.Arbitrary<ServerView> = fc.oneof(
  fc.record({
    ...common,
    state: fc.constantFrom<ServerState>('answers', 'servfail', 'timeout'),
    cname: silence,
    a: silence,
    aaaa: silence,
  }),
  fc.record({
    ...common,
    state: fc.constantFrom<ServerState>(
      'refused',
      'not_authoritative',
      'malformed',
      'no_address',
      'alias_name',
      'lookup_failed',
      'reserved_address',
      'not_asked',
    ),
    cname: answer(name),
    a: answer(address),
    aaaa: answer(address),
  }),
);

const resolverView: fc.Arbitrary<ResolverView> = fc.record({
  server: fc.constantFrom('8.8.8.8', '1.1.1.1'),
  cname: answer(name),
  a: answer(address),
  aaaa: answer(address),
  negativeTtlSeconds: fc.option(fc.nat()),
  authenticated: fc.boolean(),
  answersUnchecked: fc.option(fc.boolean()),
  errors,
  rttMs: fc.option(fc.nat()),
});

const serverNameSet = fc.subarray(serverNames);
const delegation: fc.Arbitrary<Delegation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('delegated' as const),
      zone: fc.constantFrom('example.com', 'docs.example.com', ''),
      parent: fc.constantFrom('com', '.'),
      atParent: serverNameSet,
      atZone: fc.option(serverNameSet),
      ttlSeconds: fc.nat(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Delegation>(
      { kind: 'unregistered', zone: 'example.com', parent: 'com' },
      { kind: 'undelegated', zone: 'example.com', parent: 'com' },
    ),
  },
);

const httpsRecord: fc.Arbitrary<HttpsRecord> = fc.record({
  priority: fc.nat({ max: 65_535 }),
  target: fc.oneof(name, fc.constant('.')),
  port: fc.option(fc.nat({ max: 65_535 })),
  hints: fc.array(address, { maxLength: 2 }),
  ech: fc.boolean(),
});
const nearbyName = fc.record({ name, cname: answer(name) });
const nearby: fc.Arbitrary<Nearby> = fc.record({
  https: answer(httpsRecord),
  sibling: fc.option(fc.record({ cname: answer(name), a: answer(address) })),
  doubled: fc.option(nearbyName),
  wrongHosts: fc.array(nearbyName, { maxLength: 2 }),
  chain: fc.option(
    fc.record({
      names: fc.array(name, { maxLength: 8 }),
      end: fc.constantFrom(
        'target' as const,
        'loop' as const,
        'elsewhere' as const,
        'unknown' as const,
      ),
    }),
  ),
});

const caaRecord: fc.Arbitrary<CaaRecord> = fc.record({
  flags: fc.constantFrom(0, 1, 128, 255),
  tag: fc.constantFrom('issue', 'ISSUE', 'issuewild', 'iodef', 'foo', ''),
  value: fc.constantFrom('letsencrypt.org', 'LetsEncrypt.org', 'ca.example', ';', '', '\\000;;'),
});

const hostnames = ['docs.example.com', 'example.com', 'a.b.example.co.uk', 'shop.test', 'co.uk'];

const caaLevel: fc.Arbitrary<CaaLevel> = fc
  .record({
    name: fc.constantFrom(...hostnames, 'com'),
    publishedAt: fc.option(name),
    answer: answer(caaRecord),
  })
  .map(({ publishedAt, ...level }) => (publishedAt === null ? level : { ...level, publishedAt }));

export const observation: fc.Arbitrary<Observation> = fc.record({
  hostname: fc.constantFrom(...hostnames),
  at: fc.constantFrom('2026-11-21T10:00:30.500Z', 'no time'),
  view: fc.constantFrom('authoritative', 'recursive'),
  whyRecursive: fc.constant(null),
  delegation: fc.option(delegation),
  servers: fc
    .tuple(serverView, fc.array(serverView, { maxLength: 2 }))
    .map(([one, more]) => [one, ...more]),
  world: fc.array(resolverView, { maxLength: 2 }),
  nearby,
  caa: fc.option(fc.array(caaLevel, { maxLength: 3 })),
  targetAddresses: fc.array(address, { maxLength: 3 }),
  cost: fc.constant({ questions: 1, bytes: 1, ms: 1 }),
});
