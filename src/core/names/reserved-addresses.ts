/**
 * Addresses that nobody on the internet serves anything at (IANA's special-purpose registries, RFC 6890). A name server
 * there is not asked, or a zone could aim us at our own network; a host name there cannot be visited.
 */
import ipaddr from 'ipaddr.js';

type Kind = 'documentation' | 'benchmarking' | 'reserved';
type Cidr = ReturnType<typeof ipaddr.parseCIDR>;

/** What ipaddr.js calls `reserved` only, though it has a better name. */
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

/** All that has ever been given out of IPv6 (RFC 4291, 2.4; IANA's "Global Unicast"). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * The range an address that is not public is in, by ipaddr.js's name for it (`private`, `loopback`, `linkLocal`,
 * `carrierGradeNat`, …) or as `documentation`, `benchmarking` or `reserved`; null for a public address. Also what
 * leads to an IPv4 address in disguise counts (mapped, translated, tunnelled), wherever it leads, and what is no
 * address at all.
 */
export function reservedRange(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'reserved';
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'reserved') return betterName(parsed);
  if (range !== 'unicast') return range;
  // ipaddr.js takes all it does not know for unicast: ::a00:1 (RFC 4291, 2.5.5.1), 100:0:0:1:: (RFC 9780), 4000::
  return parsed instanceof ipaddr.IPv6 && !parsed.match(globalUnicast) ? 'reserved' : null;
}

function betterName(parsed: ipaddr.IPv4 | ipaddr.IPv6): Kind {
  const found = betterNames.find(
    ([[network, bits]]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  );
  return found?.[1] ?? 'reserved';
}

/** Whether nobody outside this machine reaches a listener at `host`, an address or a name. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

/** Whether an address is this machine's wherever it is asked for: loopback, and what Linux connects to itself for (0.0.0.0, ::). */
export function isThisMachine(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ['loopback', 'unspecified'].includes(ipaddr.process(address).range());
}
