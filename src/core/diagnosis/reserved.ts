import { reservedRange } from '../names/reserved-addresses.ts';
import type { FamilyOf, FindingIn } from './finding.ts';
import { byText, type DiagnosisInput } from './input.ts';
import { recordsOf } from './observation.ts';
import { addressRecords, foreign, lines, type Words } from './words.ts';

export type ReservedFinding =
  /** `at`: the name that has the address. `range`: as `reservedRange` names it. */
  {
    readonly code: 'reserved_address';
    readonly hostname: string;
    readonly addresses: readonly {
      readonly at: string;
      /** Null: a name server has no usable address. */
      readonly address: string | null;
      readonly range: string;
    }[];
  };

export const reserved: FamilyOf<ReservedFinding> = {
  reserved_address: {
    meaning: 'An address that cannot be reached from the internet',
    severity: 'warns',
    actor: 'customer',
    order: 210,
    actorFor: (finding) => (isAtServers(finding) ? 'dns_provider' : 'customer'),
    check: reservedAddress,
    explain: reservedIn,
  },
};

/** Excludes our own addresses. */
function reservedAddress(
  input: DiagnosisInput,
): FindingIn<ReservedFinding, 'reserved_address'> | undefined {
  const { hostname, allowPrivate } = input.expected;
  if (allowPrivate || input.hasNoZone) return undefined;
  const atName = input.servers
    .filter(({ pointing }) => pointing.kind !== 'unknown' && pointing.kind !== 'incomparable')
    .flatMap(({ view }) => [...recordsOf(view.a), ...recordsOf(view.aaaa)])
    .filter((address) => !input.isOwn(address))
    .flatMap((address) => {
      const range = reservedRange(address);
      return range === null ? [] : { at: hostname, address, range };
    });
  const all = new Map(
    [...atName, ...ofServers(input)].map((entry) => [`${entry.at} ${entry.address}`, entry]),
  );
  if (all.size === 0) return undefined;
  const addresses = [...all.values()].sort(byText(({ at, address }) => `${at} ${address}`));
  return { code: 'reserved_address', hostname, addresses };
}

function ofServers({ observation }: DiagnosisInput) {
  return observation.servers
    .filter(({ state }) => state === 'reserved_address')
    .map(({ server, address }) => ({
      at: server,
      address,
      range: (address === null ? null : reservedRange(address)) ?? 'reserved',
    }));
}

/** Then their operator has to act, not the customer. */
function isAtServers({ hostname, addresses }: Reserved): boolean {
  return addresses.length > 0 && addresses.every(({ at }) => at !== hostname);
}

type Reserved = FindingIn<ReservedFinding, 'reserved_address'>;

function reservedIn(finding: Reserved): Words {
  const { hostname, addresses } = finding;
  const servers = isAtServers(finding);
  const shown = addresses.map(({ at, address, range }) => {
    const what = address === null ? 'no usable address' : addressRecords([address]);
    return `${foreign(at)}: ${what} (${ranges.get(range) ?? foreign(range)})`;
  });
  return {
    summary: servers
      ? `A name server of ${hostname} has an address that cannot be reached from the internet.`
      : `${hostname} has an address that cannot be reached from the internet.`,
    expected: 'Public addresses only.',
    found: lines(shown),
    action: servers
      ? 'Ask your DNS provider to give this name server a public address, or to remove it from the list.'
      : `Delete ${addresses.length === 1 ? 'this record' : 'these records'}. It looks like a test or local address. ${hostname} needs only the record that points here.`,
  };
}

/** By ipaddr.js's range name. */
const ranges: ReadonlyMap<string, string> = new Map([
  ['private', 'for private networks'],
  ['uniqueLocal', 'for private networks'],
  ['loopback', 'the machine itself'],
  ['linkLocal', 'for one network segment'],
  ['carrierGradeNat', 'inside a provider’s network'],
  ['unspecified', 'no address at all'],
  ['multicast', 'for groups of receivers'],
  ['broadcast', 'for all hosts in a network'],
  ['benchmarking', 'for measurements'],
  ['documentation', 'for examples in documents'],
  ['ipv4Mapped', 'an IPv4 address in IPv6 form'],
  ['rfc6145', 'an IPv4 address in IPv6 form'],
  ['rfc6052', 'an IPv4 address in IPv6 form'],
  ['6to4', 'a tunnel that is no longer in use'],
  ['teredo', 'a tunnel that is no longer in use'],
  ['discard', 'discard-only'],
  ['deprecatedSiteLocal', 'for private networks, no longer in use'],
  ['segmentRouting', 'inside a provider’s network'],
  ['as112', 'for servers that catch stray queries'],
  ['as112v6', 'for servers that catch stray queries'],
  ['amt', 'for the relaying of multicast'],
  ['orchid2', 'an identifier, not a routable address'],
  ['deprecatedOrchid', 'an identifier, not a routable address'],
  ['droneRemoteIdProtocolEntityTags', 'an identifier, not a routable address'],
  ['reserved', 'reserved'],
]);
