/** The customers' DNS: turns a command's parameters into an observation. */
import type {
  CaaLevel,
  DnsAnswer,
  Observation,
  ServerView,
} from '../../src/core/diagnosis/observation.ts';

/**
 * `record`: the project whose target the record leads to; at an apex any, as the addresses are the
 * platform's. `servers_disagree`: one of two servers has it already.
 */
export type Shown = {
  readonly record: number | 'missing' | 'silent';
  readonly servers: 'agree' | 'disagree';
  readonly caa: 'allows' | 'forbids' | 'silent';
  /** The projects with a proof at `_signpost.<hostname>`. */
  readonly proofs: readonly number[];
};

export const nothingShown: Shown = {
  record: 'missing',
  servers: 'agree',
  caa: 'allows',
  proofs: [],
};

/** The platform's edge, for an apex. */
const OURS = ['192.0.2.10', '192.0.2.11'] as const;
const timeout = { kind: 'timeout' } as const;
const nxdomain = { kind: 'nxdomain' } as const;
const nodata = { kind: 'nodata' } as const;

export type Place = { readonly hostname: string; readonly apex: boolean };

/** A check of `place`; `target` belongs to the project of the record, if any. */
export function observed(
  { hostname, apex }: Place,
  shown: Shown,
  target: string | null,
  at: Date,
): Observation {
  const right = { ...serverView(apex, shown, target), server: 'ns1.dns.test' };
  const behind = { ...serverView(apex, { ...shown, record: 'missing' }, null) };
  const servers: [ServerView, ...ServerView[]] =
    shown.servers === 'disagree' && target !== null
      ? [right, { ...behind, server: 'ns2.dns.test', address: '192.0.2.54' }]
      : [right];
  return {
    hostname,
    at: at.toISOString(),
    view: 'authoritative',
    whyRecursive: null,
    delegation: null,
    servers,
    world: [],
    nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    caa: climb(hostname, shown.caa),
    targetAddresses: apex ? [...OURS] : [],
    cost: { questions: 1, bytes: 100, ms: 1 },
  };
}

function serverView(apex: boolean, { record }: Shown, target: string | null): ServerView {
  const server = { server: 'ns1.dns.test', address: '192.0.2.53', mx: null, txt: null, soa: null };
  if (record === 'silent') {
    const nothing = {
      aa: null,
      rcode: null,
      rttMs: null,
      cname: timeout,
      a: timeout,
      aaaa: timeout,
    };
    return { ...server, ...nothing, state: 'timeout' };
  }
  const answers = { ...server, state: 'answers', aa: true, rttMs: 1 } as const;
  if (target === null)
    return { ...answers, rcode: 3, cname: nxdomain, a: nxdomain, aaaa: nxdomain };
  const right = apex
    ? { cname: nodata, a: records(OURS) }
    : { cname: records([target]), a: nodata };
  return { ...answers, rcode: 0, aaaa: nodata, ...right };
}

function climb(hostname: string, caa: Shown['caa']): readonly CaaLevel[] {
  const forbids = records([{ flags: 0, tag: 'issue', value: 'other.example' }]);
  const answers = { allows: nodata, forbids, silent: timeout } as const;
  return [{ name: hostname, answer: answers[caa] }];
}

/** An answer with these records or NODATA. */
export function records<R>([first, ...rest]: readonly R[]): DnsAnswer<R> {
  return first === undefined
    ? nodata
    : { kind: 'records', records: [first, ...rest], ttlSeconds: 60 };
}
