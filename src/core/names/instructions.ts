/** The record that a customer must create. The instructions and the check both use it. */
import type { Observation } from '../diagnosis/observation.ts';
import { splitAtZone } from './zone.ts';

/** As entered at a DNS provider. */
export type DnsRecord = {
  /** `ALIAS` at an apex, where a CNAME is not allowed (RFC 1034, 3.6.2). Also called ANAME. */
  readonly type: 'CNAME' | 'ALIAS';
  /** Relative to the zone, as providers' forms expect: `docs`, or `@` for an apex. */
  readonly name: string;
  /** Without a trailing dot. */
  readonly value: string;
  /** Seconds. */
  readonly ttl: 3600;
};

/** `hostname`: A-labels, lower case. `zone`: default: the registrable domain. */
export function recordFor({
  hostname,
  target,
  zone,
}: {
  readonly hostname: string;
  readonly target: string;
  readonly zone?: string;
}): DnsRecord {
  const { label, apex } = placeIn(hostname, zone);
  return { type: apex ? 'ALIAS' : 'CNAME', name: label, value: target, ttl: 3600 };
}

/** The host name's zone if it is delegated below the registrable domain. */
export function zoneBelow({ hostname, delegation }: Seen): string | undefined {
  if (delegation?.kind !== 'delegated') return undefined;
  const { zone } = splitAtZone(hostname);
  const below = delegation.zone.endsWith(`.${zone}`);
  const holds = hostname === delegation.zone || hostname.endsWith(`.${delegation.zone}`);
  return below && holds ? delegation.zone : undefined;
}

type Seen = Pick<Observation, 'hostname' | 'delegation'>;

function placeIn(hostname: string, zone: string | undefined) {
  if (zone === undefined) return splitAtZone(hostname);
  if (hostname === zone) return { label: '@', apex: true };
  return { label: hostname.slice(0, -zone.length - 1), apex: false };
}
