import type { Expected } from '../../../src/core/diagnosis/diagnosis.ts';
import type {
  Delegation,
  DnsAnswer,
  Nearby,
  Observation,
  ResolverView,
  ServerView,
} from '../../../src/core/diagnosis/observation.ts';

export const target = 'p1.edge.example';
export const ourAddresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];

export function expectedFor(hostname: string): Expected {
  return {
    hostname,
    target,
    ca: { issuerDomains: ['letsencrypt.org'], accountUri: null, method: 'http-01' },
    allowPrivate: false,
  };
}

export const nodata = { kind: 'nodata' } as const;
export const nxdomain = { kind: 'nxdomain' } as const;
export const timeout = { kind: 'timeout' } as const;
export const servfail = { kind: 'servfail' } as const;
export const refused = { kind: 'refused' } as const;

export function records<R>(first: R, ...rest: R[]): DnsAnswer<R> {
  return { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
}

/** A server with the name and only the given records. */
export function server(shown: Partial<ServerView> = {}): ServerView {
  return {
    server: 'ns1.example.com',
    address: '9.9.9.53',
    state: 'answers',
    aa: true,
    rcode: 0,
    cname: nodata,
    a: nodata,
    aaaa: nodata,
    mx: null,
    txt: null,
    soa: { serial: 1, negativeTtlSeconds: 900 },
    rttMs: 12,
    ...shown,
  };
}

export function mute(shown: Partial<ServerView> = {}): ServerView {
  const silence = { aa: null, rcode: null, cname: timeout, a: timeout, aaaa: timeout, soa: null };
  return server({ server: 'ns2.example.com', state: 'timeout', ...silence, rttMs: null, ...shown });
}

/** A resolver with the name and only the given records. */
export function resolver(shown: Partial<ResolverView> = {}): ResolverView {
  return {
    server: '8.8.8.8',
    cname: nodata,
    a: nodata,
    aaaa: nodata,
    negativeTtlSeconds: null,
    authenticated: false,
    answersUnchecked: null,
    errors: [],
    rttMs: 9,
    ...shown,
  };
}

/** The zone example.com with the same servers in parent and zone. */
export function delegated(
  atParent: readonly string[] = ['ns1.example.com', 'ns2.example.com'],
  atZone: readonly string[] | null = atParent,
): Delegation {
  return {
    kind: 'delegated',
    zone: 'example.com',
    parent: 'com',
    atParent,
    atZone,
    ttlSeconds: 86_400,
  };
}

export const nothingNearby: Nearby = { sibling: null, doubled: null, wrongHosts: [], chain: null };

/** An observation of these servers with a climb that found no CAA records. */
export function observed(
  hostname: string,
  servers: readonly [ServerView, ...ServerView[]],
  rest: Partial<Observation> = {},
): Observation {
  return {
    hostname,
    at: '2026-11-21T10:00:30.500Z',
    view: 'authoritative',
    whyRecursive: null,
    delegation: delegated(),
    servers,
    world: [],
    nearby: nothingNearby,
    caa: [{ name: hostname, answer: nodata }],
    targetAddresses: ourAddresses,
    cost: { questions: 6, bytes: 600, ms: 40 },
    ...rest,
  };
}
