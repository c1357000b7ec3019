/**
 * The records that the platform publishes for its own name: customers' records point below it, to one target for each
 * domain, which nobody enters one by one. So there is a wildcard (RFC 4592), and with it a CAA set: where a customer's
 * name is a CNAME, a certificate authority finds that set before it climbs to the customer's own (RFC 8659, 3).
 */
import ipaddr from 'ipaddr.js';
import { type CaaParameter, presentationOf, recordToAdd } from '../diagnosis/caa/caa-value.ts';
import { reservedRange } from './reserved-addresses.ts';

/** What the records are made from. */
export type PlatformZoneSettings = {
  /** Lower case, no trailing dot. */
  readonly platformDomain: string;
  /** The edge's, IPv4 and IPv6, in any spelling. */
  readonly addresses: readonly string[];
  /** The CAA identities of our certificate authority. */
  readonly issuerDomains: readonly string[];
  /** Those of the one that stands in for it; none where there is none. */
  readonly fallbackIssuerDomains: readonly string[];
  readonly ttlSeconds: number;
  /** A mail address to which authorities report requests that the set forbids (RFC 8659, 4.4); null: none. */
  readonly contact: string | null;
  /** What the permission is narrowed to: `accounturi` and `validationmethods` (RFC 8657). */
  readonly parameters: readonly CaaParameter[];
};

/** One record, ready for a master file. */
export type PlatformRecord = {
  /** Fully qualified, with its trailing dot. */
  readonly name: string;
  /** Seconds. */
  readonly ttl: number;
  readonly type: 'A' | 'AAAA' | 'CAA';
  /** In presentation form. */
  readonly data: string;
};

/** A target has a label of 16 characters more (derived-secrets.ts), and a name 253 in all (RFC 1035, 2.3.4). */
export const PLATFORM_DOMAIN_LENGTH_MAX = 253 - 17;

/**
 * Returns the records, all of one owner: addresses, IPv4 first, then the CAA set. The same settings make the same records in
 * the same order, each address once. Throws where an address is none.
 */
export function platformZone(settings: PlatformZoneSettings): readonly PlatformRecord[] {
  const { platformDomain, ttlSeconds } = settings;
  const own = { name: `*.${platformDomain}.`, ttl: ttlSeconds };
  const caa = caaSet(settings).map((data) => ({ ...own, type: 'CAA', data }) as const);
  return [...addressRecords(settings.addresses).map((record) => ({ ...own, ...record })), ...caa];
}

/** IPv4 first, otherwise as they were given. */
function addressRecords(addresses: readonly string[]) {
  const parsed = addresses.map((text) => ipaddr.parse(text));
  const ofKind = (kind: 'ipv4' | 'ipv6') =>
    // What is written in two ways is one address; RFC 5952 has one way.
    new Set(parsed.filter((one) => one.kind() === kind).map((one) => one.toString()));
  return [
    ...[...ofKind('ipv4')].map((data) => ({ type: 'A', data }) as const),
    ...[...ofKind('ipv6')].map((data) => ({ type: 'AAAA', data }) as const),
  ];
}

function caaSet(settings: PlatformZoneSettings): readonly string[] {
  const { issuerDomains, fallbackIssuerDomains, contact, parameters } = settings;
  const property = (tag: string, value: string) => presentationOf({ flags: 0, tag, value });
  // An account belongs to one authority: to name it to another would forbid that one.
  const elsewhere = parameters.filter(({ tag }) => tag !== 'accounturi');
  const permissions = [
    ...issuerDomains.map((issuer) => recordToAdd(issuer, parameters)),
    ...fallbackIssuerDomains
      .filter((issuer) => !issuerDomains.includes(issuer))
      .map((issuer) => recordToAdd(issuer, elsewhere)),
  ];
  return [
    ...new Set(permissions),
    // Wildcards are never ordered, so nobody is to get one for a name that points here.
    property('issuewild', ';'),
    ...(contact === null ? [] : [property('iodef', `mailto:${contact}`)]),
  ];
}

/**
 * As lines of a master file (RFC 1035, 5): every name and TTL in full, so that neither depends on `$ORIGIN` and `$TTL`
 * where the lines are put, nor changes them for what follows.
 */
export function inMasterFile(records: readonly PlatformRecord[]): string {
  const lines = records.map(
    ({ name, ttl, type, data }) => `${name}  ${ttl}  IN  ${type.padEnd(4)}  ${data}\n`,
  );
  return lines.join('');
}

/** Returns a sentence about each setting that is valid, and hardly what was meant; empty where there is none. */
export function doubtsAbout({ addresses }: PlatformZoneSettings): readonly string[] {
  const reserved = addresses.flatMap((address) => {
    const range = reservedRange(address);
    return range === null
      ? []
      : [
          `${address} is no public address (${range}): visitors and certificate authorities cannot reach it.`,
        ];
  });
  const hasIpv4 = addresses.some((address) => !address.includes(':'));
  const lacking = 'There is no IPv4 address: visitors without IPv6 cannot reach any domain.';
  return hasIpv4 ? reserved : [...reserved, lacking];
}
