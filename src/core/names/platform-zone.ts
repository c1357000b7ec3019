/**
 * The records that the platform publishes for its own domain. Customers' records point to one
 * target per domain below it, so these are wildcard records (RFC 4592). The CAA set is needed: for
 * a CNAME, a CA finds it before the customer's own (RFC 8659, 3).
 */
import ipaddr from 'ipaddr.js';
import { type CaaParameter, presentationOf, recordToAdd } from '../diagnosis/caa/caa-value.ts';
import { reservedRange } from './reserved-addresses.ts';

export type PlatformZoneSettings = {
  readonly platformDomain: string;
  /** Of the edge. */
  readonly addresses: readonly string[];
  /** CAA identities of the first CA. */
  readonly issuerDomains: readonly string[];
  /** Of the fallback CA. */
  readonly fallbackIssuerDomains: readonly string[];
  readonly ttlSeconds: number;
  /** The email address for reports of forbidden requests (RFC 8659, 4.4). */
  readonly contact: string | null;
  /** `accounturi` and `validationmethods` (RFC 8657). */
  readonly parameters: readonly CaaParameter[];
};

export type PlatformRecord = {
  /** With the trailing dot. */
  readonly name: string;
  /** Seconds. */
  readonly ttl: number;
  readonly type: 'A' | 'AAAA' | 'CAA';
  /** In presentation form. */
  readonly data: string;
};

/** Leaves room for a target's label of 16 characters and a dot (RFC 1035, 2.3.4). */
export const PLATFORM_DOMAIN_LENGTH_MAX = 253 - 17;

/** IPv4 first, without duplicates, then the CAA set. Throws if an address is invalid. */
export function platformZone(settings: PlatformZoneSettings): readonly PlatformRecord[] {
  const { platformDomain, ttlSeconds } = settings;
  const own = { name: `*.${platformDomain}.`, ttl: ttlSeconds };
  const caa = caaSet(settings).map((data) => ({ ...own, type: 'CAA', data }) as const);
  return [...addressRecords(settings.addresses).map((record) => ({ ...own, ...record })), ...caa];
}

function addressRecords(addresses: readonly string[]) {
  const parsed = addresses.map((text) => ipaddr.parse(text));
  const ofKind = (kind: 'ipv4' | 'ipv6') =>
    // RFC 5952 gives each address one spelling, which removes duplicates.
    new Set(parsed.filter((one) => one.kind() === kind).map((one) => one.toString()));
  return [
    ...[...ofKind('ipv4')].map((data) => ({ type: 'A', data }) as const),
    ...[...ofKind('ipv6')].map((data) => ({ type: 'AAAA', data }) as const),
  ];
}

function caaSet(settings: PlatformZoneSettings): readonly string[] {
  const { issuerDomains, fallbackIssuerDomains, contact, parameters } = settings;
  const property = (tag: string, value: string) => presentationOf({ flags: 0, tag, value });
  // An account belongs to one CA; the same `accounturi` would block the other.
  const elsewhere = parameters.filter(({ tag }) => tag !== 'accounturi');
  const permissions = [
    ...issuerDomains.map((issuer) => recordToAdd(issuer, parameters)),
    ...fallbackIssuerDomains
      .filter((issuer) => !issuerDomains.includes(issuer))
      .map((issuer) => recordToAdd(issuer, elsewhere)),
  ];
  return [
    ...new Set(permissions),
    // Wildcard certificates are never ordered, so none is allowed for names that point here.
    property('issuewild', ';'),
    ...(contact === null ? [] : [property('iodef', `mailto:${contact}`)]),
  ];
}

/** RFC 1035, 5. Names and TTLs are complete, so `$ORIGIN` and `$TTL` don't matter. */
export function inMasterFile(records: readonly PlatformRecord[]): string {
  const lines = records.map(
    ({ name, ttl, type, data }) => `${name}  ${ttl}  IN  ${type.padEnd(4)}  ${data}\n`,
  );
  return lines.join('');
}

/** For settings that are valid but probably a mistake. */
export function doubtsAbout({ addresses }: PlatformZoneSettings): readonly string[] {
  const reserved = addresses.flatMap((address) => {
    const range = reservedRange(address);
    return range === null
      ? []
      : [
          `${address} is not a public address (${range}): visitors and certificate authorities cannot reach it.`,
        ];
  });
  const hasIpv4 = addresses.some((address) => !address.includes(':'));
  const lacking = 'There is no IPv4 address: visitors without IPv6 cannot reach any domain.';
  return hasIpv4 ? reserved : [...reserved, lacking];
}
