import ipaddr from 'ipaddr.js';
import { counted } from '../names/printable.ts';
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput, listedIn, type OwnZone, ownZoneIn } from './input.ts';
import type { ServerState } from './observation.ts';
import {
  deleteOwnZone,
  foreign,
  keeperOf,
  lines,
  listed,
  outcomes,
  plainAnswerWords,
  type Words,
} from './words.ts';

export type ServerFinding =
  | FailingServers<'name_server_lame'>
  | FailingServers<'name_server_unreachable'>;

type FailingCode = 'name_server_lame' | 'name_server_unreachable';

/** Sorted, without duplicates. */
type FailingServers<C extends FailingCode> = {
  readonly code: C;
  readonly hostname: string;
  /** Where these servers are listed, and the zone above with that list, if known. */
  readonly zone: string;
  readonly parent?: string;
  readonly servers: readonly { readonly server: string; readonly outcome: ServerState }[];
  /** The zone has no others. */
  readonly all?: true;
  readonly plainAnswer?: true;
  readonly ownZone?: OwnZone;
};

export const servers: FamilyOf<ServerFinding> = {
  name_server_lame: {
    meaning: 'A listed name server does not serve the zone',
    severity: 'warns',
    actor: 'dns_provider',
    order: 170,
    actorFor: ({ all }) => (all ? 'customer' : 'dns_provider'),
    check: nameServerLame,
    explain: (finding) => {
      const { hostname, zone, servers, all } = finding;
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: all
          ? `None of the name servers listed for ${at} serves it, so ${hostname} cannot be looked up.`
          : `${count} listed for ${at} ${servers.length === 1 ? 'does' : 'do'} not serve it. Lookups of ${hostname} can be slow or fail.`,
        expected: `Every name server listed for ${at} answers for it.`,
        found: inStates(servers),
        action: withOwnZone(finding, repairOf(finding)),
      };
    },
  },
  name_server_unreachable: {
    meaning: 'A listed name server cannot be reached',
    severity: 'warns',
    actor: 'dns_provider',
    order: 180,
    actorFor: ({ all, servers }) =>
      all || servers.some(({ outcome }) => misnamed.has(outcome)) ? 'customer' : 'dns_provider',
    check: nameServerUnreachable,
    explain: (finding) => {
      if (finding.all) return withoutServers(finding);
      const { hostname, zone, servers } = finding;
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} of ${at} ${servers.length === 1 ? 'is' : 'are'} unreachable. Lookups of ${hostname} can be slow or fail.`,
        expected: `Every name server listed for ${at} answers.`,
        found: inStates(servers),
        action: reachable(finding),
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

/** Can only be corrected where the name server is listed. */
const misnamed: ReadonlySet<ServerState> = new Set([
  'no_address',
  'alias_name',
  'reserved_address',
]);

/** There is no address to query. */
const unaddressed: ReadonlySet<ServerState> = new Set([...misnamed, 'lookup_failed']);

const unreachable: ReadonlySet<ServerState> = new Set([...unaddressed, 'timeout']);

/** How a server without the zone answers. Failures of our network look different. */
const declining: ReadonlySet<ServerState> = new Set(['refused', 'not_authoritative']);

/** If no server answers, reports only those that decline: the zone can be deleted there. */
function nameServerLame(input: DiagnosisInput): FailingServers<'name_server_lame'> | undefined {
  if (anyPoints(input)) return misbehaving('name_server_lame', lame, input);
  const found = misbehaving('name_server_lame', declining, input);
  const { plainAnswer } = input.observation;
  const all = areAll(input, declining) && !plainAnswer;
  return found && { ...found, ...(all && { all }), ...(plainAnswer && { plainAnswer }) };
}

function nameServerUnreachable(
  input: DiagnosisInput,
): FailingServers<'name_server_unreachable'> | undefined {
  if (anyPoints(input)) return misbehaving('name_server_unreachable', unreachable, input);
  // If all are silent, our own network can be the cause. dns_unknown reports that.
  const isOurs = input.observation.resolversWork === false;
  if (isOurs || !areAll(input, unaddressed)) return undefined;
  const found = misbehaving('name_server_unreachable', unaddressed, input);
  return found && { ...found, all: true };
}

/** One check does not query all of many servers. */
function areAll(
  { observation: { servers, delegation } }: DiagnosisInput,
  set: ReadonlySet<ServerState>,
): boolean {
  const queried = new Set(servers.map(({ server }) => server));
  const listed = delegation?.kind === 'delegated' ? delegation.atParent : [];
  return listed.every((name) => queried.has(name)) && servers.every(({ state }) => set.has(state));
}

function repairOf(finding: ServerFinding): string {
  if (finding.plainAnswer) return plainAnswerWords;
  return finding.all ? correctList(finding) : servedThere(finding);
}

function servedThere({ zone, parent, servers }: ServerFinding): string {
  const at = foreign(zone);
  const fail = servers.filter(({ outcome }) => !declining.has(outcome));
  const missing = servers.length - fail.length;
  const add =
    missing === 0
      ? []
      : [`${at} is missing at ${those(missing)}. Add it there, or ask your DNS provider to.`];
  const repair =
    fail.length === 0
      ? []
      : [
          `Ask your DNS provider why ${those(fail.length)} ${fail.length === 1 ? 'fails' : 'fail'}: often the zone was never received there, or could not be loaded.`,
        ];
  const correct = `Or enter the right name servers at ${keeperOf(zone, parent)}, without unused ones.`;
  return [...add, ...repair, correct].join(' ');
}

function those(count: number): string {
  return count === 1 ? 'this server' : 'these servers';
}

/** The list of name servers can be the mistake. */
function correctList({ zone, parent }: ServerFinding): string {
  const at = foreign(zone);
  return `At ${keeperOf(zone, parent)}, check that these are the name servers of the provider where you edit the records of ${at}, and correct them if not. If they are, add ${at} there, or ask that provider to.`;
}

function withOwnZone({ hostname, ownZone }: ServerFinding, action: string): string {
  return ownZone === undefined
    ? action
    : `${action} Or, if ${hostname} does not need its own zone: ${deleteOwnZone(hostname, ownZone)}`;
}

function reachable({ zone, parent, servers }: ServerFinding): string {
  const keeper = keeperOf(zone, parent);
  const names = servers.filter(({ outcome }) => misnamed.has(outcome)).map(({ server }) => server);
  const silent = servers.length - names.length;
  const correct =
    names.length === 0
      ? []
      : [
          `At ${keeper}, remove the name server${names.length === 1 ? '' : 's'} ${listed(names)}, or enter a name that has public addresses instead.`,
        ];
  const wait =
    silent === 0
      ? []
      : [
          `Nothing to change now${names.length === 0 ? '' : ' at the other unreachable servers'}: some servers answer. If it lasts, ask your DNS provider about ${those(silent)}, or remove unused servers at ${keeper}.`,
        ];
  return [...correct, ...wait].join(' ');
}

/** The list of name servers must be corrected where it is kept. */
function withoutServers({ hostname, zone, parent, servers, ownZone }: ServerFinding): Words {
  const at = foreign(zone);
  return {
    summary: `None of the name servers listed for ${at} has a usable address, so ${hostname} cannot be looked up.`,
    expected: `Name servers for ${at} whose names have public addresses.`,
    found: inStates(servers),
    action:
      ownZone === undefined
        ? `At ${keeperOf(zone, parent)}, enter the name servers of the provider where you edit the records of ${at}. A name server inside ${at} also needs its address there (glue).`
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
  const { observation, expected, hasNoZone } = input;
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
  const at = listedIn(input);
  const own = at.zone === input.zone ? ownZoneIn(input) : {};
  return { code, hostname: expected.hostname, ...at, servers, ...own };
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
  lookup_failed: 'our resolver cannot look up its name (SERVFAIL)',
  reserved_address: 'its address is not public',
  not_asked: 'not queried this time',
};

function inStates(
  servers: readonly { readonly server: string; readonly outcome: ServerState }[],
): string {
  return lines(servers.map(({ server, outcome }) => `${foreign(server)}: ${states[outcome]}`));
}
