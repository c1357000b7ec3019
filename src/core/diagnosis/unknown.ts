/** No server of the zone says where the name points, or our own target or resolvers failed. */
import ipaddr from 'ipaddr.js';
import { describeExtendedError, foreignErrors } from './extended-errors.ts';
import type { FamilyOf } from './finding.ts';
import type { DiagnosisInput } from './input.ts';
import type { ExtendedError, ServerState, ServerView } from './observation.ts';
import type { QueryFailure, Unasked } from './server-pointing.ts';
import { distinct, states } from './servers.ts';
import { foreign, lines } from './words.ts';

export type UnknownFinding = {
  readonly code: 'dns_unknown';
  readonly hostname: string;
  /** Sorted. Empty if our own target did not resolve; `hostname` is then the target. */
  readonly servers: readonly {
    readonly server: string;
    readonly outcome: QueryFailure | Unasked;
  }[];
  /** RFC 8914. */
  readonly errors?: readonly ExtendedError[];
};

export const unknown: FamilyOf<UnknownFinding> = {
  dns_unknown: {
    meaning: 'No server gave a usable answer; nothing is known to be wrong',
    severity: 'informs',
    actor: 'dns_provider',
    order: 250,
    actorFor: (finding) => (isOurs(finding) ? 'platform' : 'dns_provider'),
    check: dnsUnknown,
    explain: (finding) => {
      const { hostname, servers, errors = [] } = finding;
      return {
        summary: `We couldn’t check ${hostname}: no usable DNS answer.`,
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
  },
};

/** Also if our own target did not resolve: there is nothing to compare. */
function dnsUnknown(input: DiagnosisInput): UnknownFinding | undefined {
  if (input.pointing !== 'unknown' || input.hasNoZone) return undefined;
  const { hostname, target } = input.expected;
  const aboutTarget = input.servers.some(({ pointing }) => pointing.kind === 'incomparable');
  if (aboutTarget) return { code: 'dns_unknown', hostname: target, servers: [] };
  const { view, world } = input.observation;
  const errors = view === 'recursive' ? foreignErrors(world) : [];
  const servers = silentServers(input);
  return { code: 'dns_unknown', hostname, servers, ...(errors.length === 0 ? {} : { errors }) };
}

/** Servers that were not queried count only if there are no others: their state is unknown. */
function silentServers({ servers }: DiagnosisInput): readonly {
  readonly server: string;
  readonly outcome: QueryFailure | Unasked;
}[] {
  const namesWhere = (wanted: (view: ServerView) => boolean) =>
    servers.flatMap(({ view, pointing }) =>
      pointing.kind === 'unknown' && wanted(view)
        ? { server: view.server, outcome: unasked(view.state) ?? pointing.outcome }
        : [],
    );
  const asked = namesWhere(({ state }) => state !== 'not_asked');
  return distinct(asked.length > 0 ? asked : namesWhere(() => true));
}

function unasked(state: ServerState): Unasked | undefined {
  return state === 'no_address' || state === 'reserved_address' || state === 'not_asked'
    ? state
    : undefined;
}

/** Our target or resolvers failed. A resolver's SERVFAIL means that the zone fails. */
function isOurs({ servers }: UnknownFinding): boolean {
  return servers.every(({ server, outcome }) => {
    if (outcome === 'not_asked') return true;
    return ipaddr.isValid(server) ? outcome !== 'servfail' : !server.includes('.');
  });
}

function nextWhere(finding: UnknownFinding): string {
  if (finding.servers.length === 0) {
    return 'No action needed: this name belongs to the platform. We check again automatically.';
  }
  if (isOurs(finding)) {
    return 'No action needed: we could not query the DNS. We check again automatically.';
  }
  return finding.servers.some(({ server }) => ipaddr.isValid(server))
    ? `Nothing to change yet: we check again automatically. If it lasts while other names can be looked up, ask your DNS provider why the name servers of ${finding.hostname} fail.`
    : 'Nothing to change yet: we check again automatically. If it lasts, ask your DNS provider why these servers fail.';
}

/** A zone's servers are listed by name, our resolvers by address. */
function named(server: string): string {
  return ipaddr.isValid(server) ? `our resolver ${server}` : foreign(server);
}
