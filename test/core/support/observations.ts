/** Short ways to write down what a look at the DNS saw. */
import type { Expected } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Answer, Observation, ServerView } from '../../../src/core/observation.ts';

export const target = 'p1.edge.example';
const ourAddresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];

/** What a diagnosis expects of a host name whose records must lead to `target`. */
export function expectedFor(hostname: string): Expected {
  return {
    hostname,
    target,
    ca: { issuerDomains: ['letsencrypt.org'], accountUri: null, method: 'http-01' },
  };
}

export const nodata = { kind: 'nodata' } as const;
export const nxdomain = { kind: 'nxdomain' } as const;
export const timeout = { kind: 'timeout' } as const;
export const servfail = { kind: 'servfail' } as const;
export const refused = { kind: 'refused' } as const;

/** An answer with records. */
export function records<R>(first: R, ...rest: R[]): Answer<R> {
  return { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
}

/** A server that knows the name and has none of the records asked for, except those given. */
export function server(shown: Partial<ServerView> = {}): ServerView {
  return { server: 'ns1.example.com', cname: nodata, a: nodata, aaaa: nodata, ...shown };
}

/** One look at these servers, with a climb that found no CAA records. */
export function observed(
  hostname: string,
  servers: readonly [ServerView, ...ServerView[]],
  rest: Partial<Observation> = {},
): Observation {
  return {
    hostname,
    view: 'authoritative',
    servers,
    caa: [{ name: hostname, answer: nodata }],
    targetAddresses: ourAddresses,
    ...rest,
  };
}
