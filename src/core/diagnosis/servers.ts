/** Findings about the zone's name servers: those that fail. What follows where none gives a usable answer is in unknown.ts. */
import ipaddr from 'ipaddr.js';
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput, type HandedOver, handedOver } from './input.ts';
import type { ServerState } from './observation.ts';
import { counted, foreign, keeperOf, lines, outcomes, takeBack, type Words } from './words.ts';

/** What can be wrong with the zone's name servers. */
export type ServerFinding =
  | FailingServers<'name_server_lame'>
  | FailingServers<'name_server_unreachable'>;

type FailingCode = 'name_server_lame' | 'name_server_unreachable';

/** Servers with the state that each was found in, sorted, each pair once. */
type FailingServers<C extends FailingCode> = {
  readonly code: C;
  readonly hostname: string;
  readonly zone: string;
  readonly servers: readonly { readonly server: string; readonly outcome: ServerState }[];
  /** Of `name_server_unreachable`: these are all that the zone has. */
  readonly none?: true;
  readonly handed?: HandedOver;
};

/** The rules of these findings, by code; findings.ts puts them beside those of the other families. */
export const servers: FamilyOf<ServerFinding> = {
  name_server_lame: {
    meaning: 'A listed name server does not know the zone',
    severity: 'warns',
    actor: 'dns_provider',
    order: 170,
    check: nameServerLame,
    explain: ({ hostname, zone, servers, handed }) => {
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} listed for ${at} ${servers.length === 1 ? 'does' : 'do'} not know it, so ${hostname} may be found slowly, not every time, or not at all.`,
        expected: `Every name server listed for ${at} answers for it.`,
        found: inStates(servers),
        action: `${at} is missing at ${servers.length === 1 ? 'this server' : 'these servers'}. Add it there, or ask your DNS provider to; or enter the right name servers at ${keeperOf(zone)}, without those that are no longer used.${handed === undefined ? '' : ` Or, if ${hostname} is to be an ordinary name: ${takeBack(hostname, handed)}`}`,
      };
    },
  },
  name_server_unreachable: {
    meaning: 'A listed name server cannot be reached',
    severity: 'warns',
    actor: 'dns_provider',
    order: 180,
    actorFor: ({ none }) => (none ? 'customer' : 'dns_provider'),
    check: nameServerUnreachable,
    explain: (finding) => {
      const { hostname, zone, servers } = finding;
      if (finding.none) return noneFound(finding);
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} of ${at} cannot be reached, so ${hostname} may be found slowly, or not every time.`,
        expected: `Every name server listed for ${at} answers.`,
        found: inStates(servers),
        action: `Nothing to change at once: the other servers answer. If it lasts, ask your DNS provider about ${servers.length === 1 ? 'this server' : 'these servers'}, or take what is no longer used off the list at ${keeperOf(zone)}.`,
      };
    },
  },
};

/** Listed for the zone, and does not know it. */
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

/** There is nothing to ask. */
const nowhere: ReadonlySet<ServerState> = new Set(['no_address', 'alias_name', 'reserved_address']);

/** The answer of a server that does not have the zone; no failure of our own network gives it. */
const declining: ReadonlySet<ServerState> = new Set(['refused', 'not_authoritative']);

/**
 * Servers that decline, or fail, while another one answers. Where none does, only those that say that they do not have
 * the zone: it may have been deleted there.
 */
function nameServerLame(input: DiagnosisInput): FailingServers<'name_server_lame'> | undefined {
  return misbehaving('name_server_lame', anyPoints(input) ? lame : declining, input);
}

/** Servers that cannot be reached, while another one answers; or all of them, where there is nowhere to ask any. */
function nameServerUnreachable(
  input: DiagnosisInput,
): FailingServers<'name_server_unreachable'> | undefined {
  if (anyPoints(input)) return misbehaving('name_server_unreachable', unreachable, input);
  // Where all are silent, our own network may be the reason, and dns_unknown says all that is known.
  const { servers, resolversWork } = input.observation;
  if (resolversWork === false || !servers.every(({ state }) => nowhere.has(state)))
    return undefined;
  const found = misbehaving('name_server_unreachable', nowhere, input);
  return found && { ...found, none: true };
}

/** All servers are listed by names that lead nowhere: whoever lists them has to correct that. */
function noneFound({
  hostname,
  zone,
  servers,
  handed,
}: FailingServers<'name_server_unreachable'>): Words {
  const [at, keeper] = [foreign(zone), keeperOf(zone)];
  return {
    summary: `None of the name servers listed for ${at} can be found, so nobody can look up ${hostname}.`,
    expected: `Name servers for ${at} whose names have public addresses.`,
    found: inStates(servers),
    action:
      handed === undefined
        ? `At ${keeper}, enter the name servers of the provider where you edit the records of ${at}. One whose name is in ${at} itself needs its address there, too (glue).`
        : `${takeBack(hostname, handed)} Or correct those NS records.`,
  };
}

/** Whether any server says where the name points. */
function anyPoints({ servers }: DiagnosisInput): boolean {
  return servers.some(({ pointing }) => pointing.kind !== 'unknown');
}

/** A server of several addresses is fine if it answers at one of them. */
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
    // What is known by its address alone is a resolver of ours.
    ({ server, state }) => states.has(state) && !answering.has(server) && !ipaddr.isValid(server),
  );
  if (found.length === 0) return undefined;
  const servers = distinct(found.map(({ server, state }) => ({ server, outcome: state })));
  return { code, hostname: expected.hostname, zone, servers, ...handedOver(input) };
}

/** Each pair once, sorted. */
export function distinct<T extends { readonly server: string; readonly outcome: string }>(
  list: readonly T[],
): readonly T[] {
  const keyOf = ({ server, outcome }: T) => `${server} ${outcome}`;
  return [...new Map(list.map((item) => [keyOf(item), item])).values()].sort(byText(keyOf));
}

/** A server's state, as it is said behind its name. */
export const states: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: outcomes.refused,
  not_authoritative: 'answers, but not as one that is responsible',
  servfail: outcomes.servfail,
  malformed: 'its answer cannot be read',
  timeout: outcomes.timeout,
  no_address: 'its name has no address',
  alias_name: 'its name is an alias (CNAME), which a name server’s must not be',
  reserved_address: 'its address is not a public one',
  not_asked: outcomes.not_asked,
};

function inStates(
  servers: readonly { readonly server: string; readonly outcome: ServerState }[],
): string {
  return lines(servers.map(({ server, outcome }) => `${foreign(server)}: ${states[outcome]}`));
}
