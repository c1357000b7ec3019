/** The record a customer must create. What is shown and what is checked both come from here. */
import { splitAtZone } from './zone.ts';

export type DnsRecord = {
  /** `ALIAS` at an apex, where no CNAME may stand (RFC 1034, 3.6.2); providers also call it ANAME or flattening. */
  readonly type: 'CNAME' | 'ALIAS';
  /** As providers' forms want it, relative to the zone: `docs`, or `@` for an apex. */
  readonly name: string;
  readonly value: string;
  readonly ttl: 3600;
};

/** The record for an accepted host name (A-labels, lower case). The same arguments always ask for the same record. */
export function recordFor({
  hostname,
  target,
}: {
  readonly hostname: string;
  readonly target: string;
}): DnsRecord {
  const { label, apex } = splitAtZone(hostname);
  return { type: apex ? 'ALIAS' : 'CNAME', name: label, value: target, ttl: 3600 };
}
