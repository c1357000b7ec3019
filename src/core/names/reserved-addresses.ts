/**
 * Addresses that are not public (RFC 6890). Signpost never queries name servers there: a zone could
 * aim it at its own network.
 */
import ipaddr from 'ipaddr.js';

type Kind = 'documentation' | 'benchmarking' | 'reserved';
type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

/** Ranges that ipaddr.js only calls `reserved`. */
const betterNames: readonly (readonly [Cidr, Kind])[] = (
  [
    ['192.0.2.0/24', 'documentation'], // RFC 5737
    ['198.51.100.0/24', 'documentation'],
    ['203.0.113.0/24', 'documentation'],
    ['2001:db8::/32', 'documentation'], // RFC 3849
    ['3fff::/20', 'documentation'], // RFC 9637
    ['198.18.0.0/15', 'benchmarking'], // RFC 2544
  ] as const
).map(([cidr, kind]) => [ipaddr.parseCIDR(cidr), kind]);

/** All of the allocated IPv6 space (RFC 4291, 2.4; IANA's "Global Unicast"). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * ipaddr.js's name of the range, `documentation`, `benchmarking` or `reserved`; null for a public
 * address. Embedded IPv4 addresses and invalid addresses are never public.
 */
export function reservedRange(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'reserved';
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'reserved') return betterName(parsed);
  if (range !== 'unicast') return range;
  // ipaddr.js treats unknown ranges as unicast: ::a00:1 (RFC 4291, 2.5.5.1), 100:0:0:1:: (RFC
  // 9780), 4000::
  return parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast) ? 'reserved' : null;
}

function betterName(parsed: ipaddr.IPv4 | ipaddr.IPv6): Kind {
  const found = betterNames.find(
    ([[network, bits]]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  );
  return found?.[1] ?? 'reserved';
}
