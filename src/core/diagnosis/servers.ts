import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput } from './input.ts';
import type { ServerState } from './observation.ts';
import { counted, foreign, keeperOf, lines, outcomes } from './words.ts';

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
};

export const servers: FamilyOf<ServerFinding> = {
  name_server_lame: {
    meaning: 'A listed name server does not serve the zone',
    severity: 'warns',
    actor: 'dns_provider',
    order: 170,
    check: nameServerLame,
    explain: ({ hostname, zone, servers }) => {
      const [at, count] = [foreign(zone), counted(servers.length, 'name server')];
      return {
        summary: `${count} listed for ${at} ${servers.length === 1 ? 'does' : 'do'} not serve it. Lookups of ${hostname} can be slow or fail.`,
        expected: `Every name server listed for ${at} answers for it.`,
        found: inStates(servers),
        action: `${at} is missing at ${servers.length === 1 ? 'this server' : 'these servers'}. Add it there, or ask your DNS provider to. Or enter the right name servers at ${keeperOf(zone)}, without unused ones.`,
      };
    },
  },
  name_server_unreachable: {
    meaning: 'A listed name server cannot be reached',
    severity: 'warns',
    actor: 'dns_provider',
    order: 180,
    check: nameServerUnreachable,
    explain: ({ hostname, zone, servers }) => {
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
  // If no server answers, our own network can be the cause. dns_unknown reports that.
  return anyPoints(input) ? misbehaving('name_server_unreachable', unreachable, input) : undefined;
}

function anyPoints({ servers }: DiagnosisInput): boolean {
  return servers.some(({ pointing }) => pointing.kind !== 'unknown');
}

/** A server with several addresses is fine if one of them answers. */
function misbehaving<C extends FailingCode>(
  code: C,
  states: ReadonlySet<ServerState>,
  { observation, expected, zone, hasNoZone }: DiagnosisInput,
): FailingServers<C> | undefined {
  if (observation.view !== 'authoritative' || hasNoZone) return undefined;
  const answering = new Set(
    observation.servers.filter(({ state }) => state === 'answers').map(({ server }) => server),
  );
  const found = observation.servers.filter(
    ({ server, state }) => states.has(state) && !answering.has(server),
  );
  if (found.length === 0) return undefined;
  const servers = distinct(found.map(({ server, state }) => ({ server, outcome: state })));
  return { code, hostname: expected.hostname, zone, servers };
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
  reserved_address: 'its address is not public',
  not_asked: 'not queried this time',
};

function inStates(
  servers: readonly { readonly server: string; readonly outcome: ServerState }[],
): string {
  return lines(servers.map(({ server, outcome }) => `${foreign(server)}: ${states[outcome]}`));
}
