/** Words for what stands behind the record: registration, delegation and the zone's name servers. */
import ipaddr from 'ipaddr.js';
import { describeExtendedError } from './extended-errors.ts';
import type { Finding } from './findings.ts';
import type { ServerState } from './observation.ts';
import { areOfSeveralProviders } from './providers.ts';
import {
  addressRecords,
  counted,
  foreign,
  foreignName,
  keeperOf,
  lines,
  listed,
  outcomes,
  recordIn,
  type Words,
  type WordsFor,
} from './words.ts';

export const serverWords: WordsFor<
  | 'name_servers_disagree'
  | 'name_server_lame'
  | 'name_server_unreachable'
  | 'delegation_mismatch'
  | 'domain_unregistered'
  | 'reserved_address'
  | 'dns_unknown'
> = {
  name_servers_disagree: (finding) => {
    const { hostname, right, others } = finding;
    const all = new Set([...right, ...others.map(({ server }) => server)]).size;
    const have = `${right.length} of ${all} of your name servers ${right.length === 1 ? 'has' : 'have'}`;
    const still = others.map(
      ({ server, shows }) => `${foreign(server)} still shows ${foreignName(shows)}`,
    );
    return {
      summary: isOfSeveralProviders(finding)
        ? `${have} the record of ${hostname}; those of another DNS provider do not.`
        : `${have} the record of ${hostname}; the others have yet to follow.`,
      expected: `At every name server: ${recordIn(finding)}`,
      found: `${have} the record: ${listed(right)}; ${lines(still)}`,
      action: agreeing(finding),
    };
  },
  name_server_lame: ({ hostname, zone, servers }) => {
    const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
    return {
      summary: `${count} listed for ${at} ${servers.length === 1 ? 'does' : 'do'} not know it, so ${hostname} may be found slowly, not every time, or not at all.`,
      expected: `Every name server listed for ${at} answers for it.`,
      found: inStates(servers),
      action: `${at} is missing at ${servers.length === 1 ? 'this server' : 'these servers'}. Add it there, or ask your DNS provider to; or enter the right name servers at ${keeperOf(zone)}, without those that are no longer used.`,
    };
  },
  name_server_unreachable: ({ hostname, zone, servers }) => {
    const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
    return {
      summary: `${count} of ${at} cannot be reached, so ${hostname} may be found slowly, or not every time.`,
      expected: `Every name server listed for ${at} answers.`,
      found: inStates(servers),
      action: `Nothing to change at once: the other servers answer. If it lasts, ask your DNS provider about ${servers.length === 1 ? 'this server' : 'these servers'}, or take what is no longer used off the list at ${keeperOf(zone)}.`,
    };
  },
  delegation_mismatch: (finding) => {
    const { hostname, onlyAtParent, onlyAtZone } = finding;
    const zone = foreign(finding.zone);
    const keeper = keeperOf(finding.zone);
    const above = keeper === 'the zone above' ? `${keeper} (${foreign(finding.parent)})` : keeper;
    return {
      summary: `${above.charAt(0).toUpperCase()}${above.slice(1)} lists other name servers for ${zone} than ${zone} itself, so not everybody may see the same ${hostname}.`,
      expected: `The same name servers at ${above} and in the NS records of ${zone}.`,
      found: `Only at ${above}: ${orNone(onlyAtParent)}; only in the zone: ${orNone(onlyAtZone)}`,
      action: `At ${above}, enter the name servers of the provider where you edit the records of ${zone}, and only those. After a move to another provider it takes up to two days until everybody follows; until then keep the records at both.`,
    };
  },
  domain_unregistered: ({ hostname, ...finding }) => {
    const domain = foreign(finding.domain);
    return {
      summary:
        hostname === finding.domain
          ? `${domain} does not exist at its registry.`
          : `${domain} does not exist at its registry, so ${hostname} cannot exist.`,
      expected: `${domain} at its registry.`,
      found: `The registry of .${foreign(finding.registry)} says that ${domain} does not exist (NXDOMAIN).`,
      action: `Check the spelling. If it is right, register ${domain}, or renew it at your registrar if it has expired or is on hold. A new domain shows up within minutes to hours.`,
    };
  },
  reserved_address: reservedIn,
  dns_unknown: (finding) => {
    const { hostname, servers, errors = [] } = finding;
    return {
      summary: `Whether ${hostname} is set up cannot be told: no answer that we could use.`,
      expected: `An answer from the name servers of ${hostname}.`,
      found:
        servers.length === 0
          ? `The addresses of ${hostname} are not known.`
          : lines([
              ...servers.map(({ server, outcome }) => `${named(server)}: ${states[outcome]}`),
              ...errors.map(describeExtendedError),
            ]),
      action: nextWhere(finding),
    };
  },
};

type Disagreeing = Extract<Finding, { readonly code: 'name_servers_disagree' }>;

/** Whether the zone is held at two providers, which take nothing over from each other. */
export function isOfSeveralProviders({ right, others }: Disagreeing): boolean {
  return areOfSeveralProviders(
    right,
    others.map(({ server }) => server),
  );
}

function agreeing(finding: Disagreeing): string {
  const { hostname, zone = hostname } = finding;
  return isOfSeveralProviders(finding)
    ? `These name servers seem to belong to different DNS providers, which take nothing over from each other. Create the record at both, or list the name servers of only one of them at ${finding.zone === undefined ? 'your registrar' : keeperOf(zone)}.`
    : 'Nothing to do but wait for your DNS provider, whose servers take the record over from each other. We look again within seconds. If it is still so after an hour, ask your provider why these servers stay behind.';
}

type Unknown = Extract<Finding, { readonly code: 'dns_unknown' }>;

/**
 * Whether it is our own target that could not be looked up, or our own resolvers that say nothing. Those are listed by
 * address, a zone's servers by name; a resolver that fails passes on that the zone does.
 */
export function isOurTrouble({ servers }: Unknown): boolean {
  return servers.every(({ server, outcome }) => {
    if (outcome === 'not_asked') return true;
    return ipaddr.isValid(server) ? outcome !== 'servfail' : !server.includes('.');
  });
}

function nextWhere(finding: Unknown): string {
  if (finding.servers.length === 0) {
    return 'Nothing for you to do: the name is ours, and we look again by ourselves.';
  }
  if (isOurTrouble(finding)) {
    return 'Nothing for you to do: it is our side that could not ask, and we look again by ourselves.';
  }
  return finding.servers.some(({ server }) => ipaddr.isValid(server))
    ? `Nothing to change yet: we look again by ourselves. If it lasts while other names can be looked up, ask your DNS provider why the name servers of ${finding.hostname} fail.`
    : 'Nothing to change yet: we look again by ourselves. If it lasts, ask your DNS provider why these servers fail.';
}

/** A zone's servers are listed by name; what is listed by address is a resolver of ours. */
function named(server: string): string {
  return ipaddr.isValid(server) ? `our resolver ${server}` : foreign(server);
}

/** Whether the unreachable addresses are those of name servers only: whoever runs those has to act. */
export function isAtServers({ hostname, addresses }: Reserved): boolean {
  return addresses.length > 0 && addresses.every(({ at }) => at !== hostname);
}

type Reserved = Extract<Finding, { readonly code: 'reserved_address' }>;

function reservedIn(finding: Reserved): Words {
  const { hostname, addresses } = finding;
  const servers = isAtServers(finding);
  const shown = addresses.map(({ at, address, range }) => {
    const what = address === null ? 'no usable address' : addressRecords([address]);
    return `${foreign(at)}: ${what} (${ranges.get(range) ?? foreign(range)})`;
  });
  return {
    summary: servers
      ? `A name server of ${hostname} has an address that nobody on the internet can reach.`
      : `${hostname} has an address that nobody on the internet can reach.`,
    expected: 'Public addresses only.',
    found: lines(shown),
    action: servers
      ? 'Ask your DNS provider to give this name server a public address, or to take it off the list.'
      : `Delete ${addresses.length === 1 ? 'this record' : 'these records'}, which may come from a test or a local network. ${hostname} needs only the record that leads here.`,
  };
}

/** As ipaddr.js calls them. */
const ranges: ReadonlyMap<string, string> = new Map([
  ['private', 'for private networks'],
  ['uniqueLocal', 'for private networks'],
  ['loopback', 'the machine itself'],
  ['linkLocal', 'for one network segment'],
  ['carrierGradeNat', 'inside a provider’s network'],
  ['unspecified', 'no address at all'],
  ['multicast', 'for groups of receivers'],
  ['broadcast', 'for everybody in a network'],
  ['benchmarking', 'for measurements'],
  ['documentation', 'for examples in documents'],
  ['ipv4Mapped', 'an IPv4 address in disguise'],
  ['rfc6145', 'an IPv4 address in disguise'],
  ['rfc6052', 'an IPv4 address in disguise'],
  ['6to4', 'a tunnel that is no longer in use'],
  ['teredo', 'a tunnel that is no longer in use'],
  ['discard', 'where packets are thrown away'],
  ['deprecatedSiteLocal', 'for private networks, no longer in use'],
  ['segmentRouting', 'inside a provider’s network'],
  ['as112', 'for servers that catch stray questions'],
  ['as112v6', 'for servers that catch stray questions'],
  ['amt', 'for the relaying of multicast'],
  ['orchid2', 'a name for a key, not a place'],
  ['deprecatedOrchid', 'a name for a key, not a place'],
  ['droneRemoteIdProtocolEntityTags', 'a name for a drone, not a place'],
  ['reserved', 'reserved'],
]);

const states: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: outcomes.refused,
  not_authoritative: 'answers, but not as one that is responsible',
  servfail: outcomes.servfail,
  malformed: 'its answer cannot be read',
  timeout: outcomes.timeout,
  no_address: 'its name has no address',
  reserved_address: 'its address is not a public one',
  not_asked: 'not asked this time',
};

function inStates(
  servers: readonly { readonly server: string; readonly outcome: ServerState }[],
): string {
  return lines(servers.map(({ server, outcome }) => `${foreign(server)}: ${states[outcome]}`));
}

function orNone(names: readonly string[]): string {
  return names.length === 0 ? 'none' : listed(names);
}
