/** The record a customer must create. What is shown and what is checked both come from here. */
import type { Observation } from '../diagnosis/observation.ts';
import { splitAtZone } from './zone.ts';

/** A record as a customer enters it. */
export type DnsRecord = {
  /** `ALIAS` at an apex, where no CNAME may stand (RFC 1034, 3.6.2); providers also call it ANAME or flattening. */
  readonly type: 'CNAME' | 'ALIAS';
  /** As providers' forms want it, relative to the zone: `docs`, or `@` for an apex. */
  readonly name: string;
  /** The host name it points to, without a trailing dot. */
  readonly value: string;
  /** Seconds. */
  readonly ttl: 3600;
};

/**
 * Returns the record for an accepted host name (A-labels, lower case). The same arguments always give the same record.
 * `zone`: the zone that the host name is in, where the DNS has shown it; else its registrable domain.
 */
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

/**
 * Returns the zone delegated below the registrable domain that a host name is in, which its record goes into; undefined
 * where there is none, or no delegation was seen.
 */
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
