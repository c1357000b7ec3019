/** Observations by what they diagnose to: jobs diagnose for themselves. */
import type { DnsAnswer, Observation } from '../../src/core/diagnosis/observation.ts';
import { anObservation } from './builders.ts';

export type SeenAs = 'right' | 'missing' | 'unknown' | 'forbidden';

const nxdomain = { kind: 'nxdomain' } as const;
const timeout = { kind: 'timeout' } as const;

/** `forbidden`: CAA records of another CA. Each call makes another object. */
export function seenAs(
  what: SeenAs,
  { hostname, target }: { readonly hostname: string; readonly target: string } = {
    hostname: 'docs.shop.test',
    target: 'x.edge.test',
  },
): Observation {
  const cname: DnsAnswer<string> = { kind: 'records', records: [target], ttlSeconds: 3600 };
  const view = {
    right: { cname },
    forbidden: { cname },
    missing: { cname: nxdomain, a: nxdomain, aaaa: nxdomain },
    unknown: { state: 'timeout', cname: timeout, a: timeout, aaaa: timeout },
  } as const;
  const labels = hostname.split('.');
  const levels = labels.map((_, at) => labels.slice(at).join('.'));
  const zone = labels.slice(-2).join('.');
  const caa = levels.map((name) => ({
    name,
    answer: what === 'forbidden' && name === zone ? forbids : ({ kind: 'nodata' } as const),
  }));
  return { ...anObservation(view[what]), hostname, caa };
}

const forbids = {
  kind: 'records',
  records: [{ flags: 0, tag: 'issue', value: 'other.test' }],
  ttlSeconds: 60,
} as const;
