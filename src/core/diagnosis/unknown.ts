/** The finding that nobody could tell: none of the zone's servers, or our own target or resolvers. */
import ipaddr from 'ipaddr.js';
import { describeExtendedError, foreignErrors } from './extended-errors.ts';
import type { FamilyOf } from './finding.ts';
import { type DiagnosisInput, type HandedOver, handedOver } from './input.ts';
import {
  type Answer,
  type ExtendedError,
  isConclusive,
  isCutOff,
  type ServerView,
} from './observation.ts';
import type { Outcome, Unasked } from './server-pointing.ts';
import { distinct, states } from './servers.ts';
import { isUnasked } from './shows.ts';
import { foreign, keeperOf, lines, takeBack } from './words.ts';

/** That nothing is known of the name. */
export type UnknownFinding = {
  readonly code: 'dns_unknown';
  readonly hostname: string;
  /** Without a conclusive answer, sorted; empty: our own target could not be resolved, and `hostname` is that. */
  readonly servers: readonly { readonly server: string; readonly outcome: Outcome | Unasked }[];
  /** What resolvers said about it (RFC 8914). */
  readonly errors?: readonly ExtendedError[];
  /** Our own resolvers fail for everything else, too. */
  readonly ours?: true;
  /** The zone, where its servers were asked. */
  readonly zone?: string;
  readonly handed?: HandedOver;
  /** Every server that answers fails for this type, and not for the other one. */
  readonly failing?: 'A' | 'AAAA';
  /** What an ALIAS must lead to, at an apex whose servers fail. */
  readonly target?: string;
};

/** The rule of this finding; findings.ts puts it beside those of the other families. */
export const unknown: FamilyOf<UnknownFinding> = {
  dns_unknown: {
    meaning: 'No server gave an answer that says anything; nothing is known to be wrong',
    severity: 'informs',
    actor: 'dns_provider',
    order: 250,
    actorFor: (finding) => {
      if (isOurTrouble(finding)) return 'platform';
      return finding.handed === undefined ? 'dns_provider' : 'customer';
    },
    check: dnsUnknown,
    explain: (finding) => {
      const { hostname, servers, errors = [] } = finding;
      return {
        summary: `We couldn’t check ${hostname}: ${whyNot(finding)}.`,
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

/** No server gave a usable answer; or servers did, and our own target, to compare them with, could not be resolved. */
function dnsUnknown(input: DiagnosisInput): UnknownFinding | undefined {
  if (input.pointing !== 'unknown' || input.hasNoZone) return undefined;
  const { hostname, target } = input.expected;
  const aboutTarget = input.servers.some(({ pointing }) => pointing.kind === 'incomparable');
  if (aboutTarget) return { code: 'dns_unknown', hostname: target, servers: [] };
  const { view, world, resolversWork } = input.observation;
  const errors = view === 'recursive' ? foreignErrors(world) : [];
  const servers = silentServers(input);
  const ours = resolversWork === false ? ({ ours: true } as const) : {};
  const said = errors.length === 0 ? {} : { errors };
  return { code: 'dns_unknown', hostname, servers, ...said, ...ours, ...atServers(input) };
}

/** What the zone's own servers show of the reason; nothing where resolvers were asked in their place. */
function atServers(input: DiagnosisInput) {
  const { observation, expected, apex, zone, servers } = input;
  const { delegation, view } = observation;
  if (view !== 'authoritative' || delegation?.kind !== 'delegated') return {};
  const failing = failingType(servers.map((server) => server.view));
  const failed = servers.some(
    ({ pointing }) => pointing.kind === 'unknown' && pointing.outcome === 'servfail',
  );
  return {
    zone,
    ...handedOver(input),
    ...(failing === undefined ? {} : { failing }),
    ...(apex && failed ? { target: expected.target } : {}),
  };
}

/** The one type of address that the servers which answer fail for. */
function failingType(views: readonly ServerView[]): 'A' | 'AAAA' | undefined {
  const answering = views.filter(({ state }) => state === 'answers');
  if (answering.length === 0) return undefined;
  if (answering.every(({ a, aaaa }) => isConclusive(a) && fails(aaaa))) return 'AAAA';
  return answering.every(({ a, aaaa }) => fails(a) && isConclusive(aaaa)) ? 'A' : undefined;
}

/** By the server's doing, not by our own limits'. */
function fails(answer: Answer<string>): boolean {
  return !isConclusive(answer) && !isCutOff(answer);
}

function whyNot({ hostname, failing, handed, zone }: UnknownFinding): string {
  if (failing !== undefined) return `its name servers fail for ${failing} records`;
  if (handed !== undefined && zone !== undefined) {
    return `NS records in ${foreign(handed.parent)} hand ${hostname} to name servers that give no usable answer`;
  }
  return 'no usable DNS answer';
}

/** Of a server that was not asked nothing is known, so it is named only where there is no other. */
function silentServers({
  servers,
}: DiagnosisInput): readonly { readonly server: string; readonly outcome: Outcome | Unasked }[] {
  const found = servers.flatMap(({ view, pointing }) =>
    pointing.kind === 'unknown'
      ? [{ server: view.server, outcome: isUnasked(view.state) ? view.state : pointing.outcome }]
      : [],
  );
  const asked = found.filter(({ outcome }) => outcome !== 'not_asked');
  return distinct(asked.length > 0 ? asked : found);
}

/**
 * Whether it is our own target that could not be resolved, or our own resolvers that say nothing. Those are listed by
 * address, a zone's servers by name; a resolver that fails passes on that the zone does, unless it fails for everything.
 */
function isOurTrouble({ servers, ours }: UnknownFinding): boolean {
  if (ours) return true;
  return servers.every(({ server, outcome }) => {
    if (outcome === 'not_asked') return true;
    return ipaddr.isValid(server) ? outcome !== 'servfail' : !server.includes('.');
  });
}

function nextWhere(finding: UnknownFinding): string {
  if (finding.servers.length === 0) {
    return 'Nothing for you to do: the name is ours. We check again automatically.';
  }
  if (isOurTrouble(finding)) {
    return 'Nothing for you to do: our side couldn’t ask. We check again automatically.';
  }
  if (finding.servers.some(({ server }) => ipaddr.isValid(server))) {
    return `Nothing to change yet: we check again automatically. If it lasts while other names can be looked up, ask your DNS provider why the name servers of ${finding.hostname} fail.`;
  }
  return atProvider(finding);
}

/** What to do about the zone's own servers: the NS records, one type of record, the registrar's list, or the provider. */
function atProvider({ hostname, servers, handed, failing, zone, target }: UnknownFinding): string {
  if (handed !== undefined) {
    return `If ${hostname} is to be an ordinary name: ${takeBack(hostname, handed)} Otherwise correct those NS records. We check again automatically.`;
  }
  const alias =
    target === undefined
      ? ''
      : ` If you have created an ALIAS there, check its value first, which must be exactly ${target}: servers fail like this for one that leads nowhere.`;
  if (failing !== undefined) {
    return `Ask your DNS provider why its servers fail for ${failing} records of ${hostname}: visitors and certificate authorities ask for those, too.${alias} We check again automatically.`;
  }
  const unresponsive = servers.every(({ outcome }) => unreached.has(outcome));
  if (zone !== undefined && unresponsive) {
    return `At ${keeperOf(zone)}, check that these are the name servers of the provider where you edit the records of ${foreign(zone)}, and correct them if not. If they are, ask that provider why they don’t answer. We check again automatically.`;
  }
  return `Nothing to change yet: we check again automatically. If it lasts, ask your DNS provider why these servers fail.${alias}`;
}

/** Not one word came from it. */
const unreached: ReadonlySet<Outcome | Unasked> = new Set([
  'timeout',
  'no_address',
  'alias_name',
  'reserved_address',
]);

/** A zone's servers are listed by name; what is listed by address is a resolver of ours. */
function named(server: string): string {
  return ipaddr.isValid(server) ? `our resolver ${server}` : foreign(server);
}
