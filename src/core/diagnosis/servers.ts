import ipaddr from 'ipaddr.js';
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput, type OwnZone, ownZoneIn } from './input.ts';
import type { ServerState } from './observation.ts';
import { counted, deleteOwnZone, foreign, keeperOf, lines, outcomes, type Words } from './words.ts';

export type ServerFinding =
  | FailingServers<'name_server_lame'>
  | FailingServers<'name_server_unreachable'>;

type FailingCode = 'name_server_lame' | 'name_server_unreachable';

/** Sorted, without duplicates. */
type FailingServers<C extends FailingCode> = {
  readonly code: C;
  readonly hostname: string;
  readonly zone: string;
  readonly servers: readonly { readonly server: string; readonly outcome: ServerState }[];
  /** Of `name_server_unreachable`: the zone has no others. */
  readonly all?: true;
  readonly ownZone?: OwnZone;
};

export const servers: FamilyOf<ServerFinding> = {
  name_server_lame: {
    meaning: 'A listed name server does not serve the zone',
    severity: 'warns',
    actor: 'dns_provider',
    order: 170,
    check: nameServerLame,
    explain: ({ hostname, zone, servers, ownZone }) => {
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} listed for ${at} ${servers.length === 1 ? 'does' : 'do'} not serve it. Lookups of ${hostname} can be slow or fail.`,
        expected: `Every name server listed for ${at} answers for it.`,
        found: inStates(servers),
        action: `${at} is missing at ${servers.length === 1 ? 'this server' : 'these servers'}. Add it there, or ask your DNS provider to. Or enter the right name servers at ${keeperOf(zone)}, without unused ones.${ownZone === undefined ? '' : ` Or, if ${hostname} does not need its own zone: ${deleteOwnZone(hostname, ownZone)}`}`,
      };
    },
  },
  name_server_unreachable: {
    meaning: 'A listed name server cannot be reached',
    severity: 'warns',
    actor: 'dns_provider',
    order: 180,
    actorFor: ({ all }) => (all ? 'customer' : 'dns_provider'),
    check: nameServerUnreachable,
    explain: (finding) => {
      if (finding.all) return withoutServers(finding);
      const { hostname, zone, servers } = finding;
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} of ${at} ${servers.length === 1 ? 'is' : 'are'} unreachable. Lookups of ${hostname} can be slow or fail.`,
        expected: `Every name server listed for ${at} answers.`,
        found: inStates(servers),
        action: `Nothing to change now: the other servers answer. If it lasts, ask your DNS provider about ${servers.length === 1 ? 'this server' : 'these servers'}, or remove unused servers at ${keeperOf(zone)}.`,
      };
    },
  },
};

const lame: ReadonlySet<ServerState> = new Set([
  'refused',
  'not_authoritative',
  'servfail',
  'malformed',
]);
const unreachable: ReadonlySet<ServerState> = new Set([
  'timeout',
  'no_address',
  'alias_name',
  'reserved_address',
]);

/** There is no address to query. */
const unaddressed: ReadonlySet<ServerState> = new Set([
  'no_address',
  'alias_name',
  'reserved_address',
]);

/** How a server without the zone answers. Failures of our network look different. */
const declining: ReadonlySet<ServerState> = new Set(['refused', 'not_authoritative']);

/** If no server answers, reports only those that decline: the zone can be deleted there. */
function nameServerLame(input: DiagnosisInput): FailingServers<'name_server_lame'> | undefined {
  return misbehaving('name_server_lame', anyPoints(input) ? lame : declining, input);
}

function nameServerUnreachable(
  input: DiagnosisInput,
): FailingServers<'name_server_unreachable'> | undefined {
  if (anyPoints(input)) return misbehaving('name_server_unreachable', unreachable, input);
  // If all are silent, our own network can be the cause. dns_unknown reports that.
  const { servers, resolversWork } = input.observation;
  const isOurs = resolversWork === false;
  if (isOurs || !servers.every(({ state }) => unaddressed.has(state))) return undefined;
  const found = misbehaving('name_server_unreachable', unaddressed, input);
  return found && { ...found, all: true };
}

/** The list of name servers must be corrected where it is kept. */
function withoutServers({
  hostname,
  zone,
  servers,
  ownZone,
}: FailingServers<'name_server_unreachable'>): Words {
  const at = foreign(zone);
  return {
    summary: `None of the name servers listed for ${at} has a usable address, so ${hostname} cannot be looked up.`,
    expected: `Name servers for ${at} whose names have public addresses.`,
    found: inStates(servers),
    action:
      ownZone === undefined
        ? `At ${keeperOf(zone)}, enter the name servers of the provider where you edit the records of ${at}. A name server inside ${at} also needs its address there (glue).`
        : `${deleteOwnZone(hostname, ownZone)} Or correct those NS records.`,
  };
}

function anyPoints({ servers }: DiagnosisInput): boolean {
  return servers.some(({ pointing }) => pointing.kind !== 'unknown');
}

/** A server with several addresses is fine if one of them answers. */
function misbehaving<C extends FailingCode>(
  code: C,
  states: ReadonlySet<ServerState>,
  input: DiagnosisInput,
): FailingServers<C> | undefined {
  const { observation, expected, zone, hasNoZone } = input;
  if (observation.view !== 'authoritative' || hasNoZone) return undefined;
  const answering = new Set(
    observation.servers.filter(({ state }) => state === 'answers').map(({ server }) => server),
  );
  const found = observation.servers.filter(
    // Only our resolvers are known by their address.
    ({ server, state }) => states.has(state) && !answering.has(server) && !ipaddr.isValid(server),
  );
  if (found.length === 0) return undefined;
  const servers = distinct(found.map(({ server, state }) => ({ server, outcome: state })));
  return { code, hostname: expected.hostname, zone, servers, ...ownZoneIn(input) };
}

/** Without duplicates, sorted. */
export function distinct<T extends { readonly server: string; readonly outcome: string }>(
  list: readonly T[],
): readonly T[] {
  const keyOf = ({ server, outcome }: T) => `${server} ${outcome}`;
  return [...new Map(list.map((item) => [keyOf(item), item])).values()].sort(byText(keyOf));
}

export const states: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: outcomes.refused,
  not_authoritative: 'answers, but is not authoritative',
  servfail: outcomes.servfail,
  malformed: 'its answer cannot be read',
  timeout: outcomes.timeout,
  no_address: 'its name has no address',
  alias_name: 'its name is an alias (CNAME), which is not allowed for a name server',
  reserved_address: 'its address is not public',
  not_asked: 'not queried this time',
};

function inStates(
  servers: readonly { readonly server: string; readonly outcome: ServerState }[],
): string {
  return lines(servers.map(({ server, outcome }) => `${foreign(server)}: ${states[outcome]}`));
}
