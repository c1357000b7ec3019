/** No server of the zone says where the name points, or our own target or resolvers failed. */
import ipaddr from 'ipaddr.js';
import { describeExtendedError, foreignErrors } from './extended-errors.ts';
import type { FamilyOf } from './finding.ts';
import { type DiagnosisInput, listedIn, type OwnZone, ownZoneIn } from './input.ts';
import {
  type DnsAnswer,
  type ExtendedError,
  isConclusive,
  type ServerView,
  wasCutOff,
} from './observation.ts';
import { isUnasked, type QueryFailure, type Unasked } from './server-pointing.ts';
import { distinct, states } from './servers.ts';
import { deleteOwnZone, foreign, keeperOf, lines, plainAnswerWords } from './words.ts';

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
  /** Our resolvers fail for other names, too. */
  readonly ours?: true;
  /** Our resolvers fail for this name, but not for others. */
  readonly othersWork?: true;
  /** Where its servers are listed, if they were queried, and the zone above. */
  readonly zone?: string;
  readonly parent?: string;
  readonly ownZone?: OwnZone;
  /** All servers that answer fail for AAAA, but not for A. */
  readonly failing?: 'AAAA';
  readonly plainAnswer?: true;
  /** At an apex with a failing server: what its ALIAS must point to. */
  readonly target?: string;
};

export const unknown: FamilyOf<UnknownFinding> = {
  dns_unknown: {
    meaning: 'No server gave a usable answer; nothing is known to be wrong',
    severity: 'informs',
    actor: 'dns_provider',
    order: 250,
    actorFor: (finding) => {
      if (isOurs(finding)) return 'platform';
      return isUnserved(finding) ? 'customer' : 'dns_provider';
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

/** Also if our own target did not resolve: there is nothing to compare. */
function dnsUnknown(input: DiagnosisInput): UnknownFinding | undefined {
  if (input.pointing !== 'unknown' || input.hasNoZone) return undefined;
  const { hostname, target } = input.expected;
  const aboutTarget = input.servers.some(({ pointing }) => pointing.kind === 'incomparable');
  if (aboutTarget) return { code: 'dns_unknown', hostname: target, servers: [] };
  const { view, world, resolversWork } = input.observation;
  const errors = view === 'recursive' ? foreignErrors(world) : [];
  return {
    code: 'dns_unknown',
    hostname,
    servers: silentServers(input),
    ...(errors.length === 0 ? {} : { errors }),
    ...(resolversWork === false && { ours: true }),
    ...(resolversWork === true && { othersWork: true }),
    ...atServers(input),
  };
}

/** Nothing if resolvers were queried instead of the zone's servers. */
function atServers(input: DiagnosisInput): Partial<UnknownFinding> {
  const { observation, expected, apex, servers } = input;
  const { delegation, view } = observation;
  if (view !== 'authoritative' || delegation?.kind !== 'delegated') return {};
  const failing = failingType(servers.map((server) => server.view));
  const failed = servers.some(
    ({ pointing }) => pointing.kind === 'unknown' && pointing.outcome === 'servfail',
  );
  return {
    ...listedIn(input),
    ...ownZoneIn(input),
    ...(failing === undefined ? {} : { failing }),
    ...(observation.plainAnswer && { plainAnswer: true }),
    ...(apex && failed ? { target: expected.target } : {}),
  };
}

function failingType(views: readonly ServerView[]): 'AAAA' | undefined {
  const answering = views.filter(({ state }) => state === 'answers');
  const fail = answering.every(({ a, aaaa }) => isConclusive(a) && fails(aaaa));
  return answering.length > 0 && fail ? 'AAAA' : undefined;
}

function fails(answer: DnsAnswer<string>): boolean {
  return !isConclusive(answer) && !wasCutOff(answer);
}

function whyNot({ hostname, failing, ownZone, ours }: UnknownFinding): string {
  if (ours) return 'our own resolvers fail for every name';
  if (failing !== undefined) return `its name servers fail for ${failing} records`;
  return ownZone === undefined
    ? 'no usable DNS answer'
    : `NS records in ${foreign(ownZone.parent)} delegate ${hostname} to name servers that give no usable answer`;
}

/** Servers that were not queried count only if there are no others: their state is unknown. */
function silentServers({ servers }: DiagnosisInput): UnknownFinding['servers'] {
  const found = servers.flatMap(({ view, pointing }) =>
    pointing.kind === 'unknown'
      ? { server: view.server, outcome: unaskedAt(view) ?? pointing.outcome }
      : [],
  );
  const asked = found.filter(({ outcome }) => outcome !== 'not_asked');
  return distinct(asked.length > 0 ? asked : found);
}

/** Also if our own limits cut off an answer of a server that works. */
function unaskedAt({ state, cname, a, aaaa }: ServerView): Unasked | undefined {
  if (isUnasked(state)) return state;
  return state === 'answers' && [cname, a, aaaa].some(wasCutOff) ? 'not_asked' : undefined;
}

/** Our target or resolvers failed. A resolver's SERVFAIL means that the zone fails, unless all names fail. */
function isOurs({ servers, ours }: UnknownFinding): boolean {
  if (ours) return true;
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
    const what = finding.ours
      ? 'our resolvers or our network have to be repaired'
      : 'we could not query the DNS';
    return `No action needed: ${what}. We check again automatically.`;
  }
  if (!finding.servers.some(({ server }) => ipaddr.isValid(server))) return atProvider(finding);
  const when = finding.othersWork
    ? 'Other names can be looked up, so if it lasts,'
    : 'If it lasts while other names can be looked up,';
  return `We check again automatically. ${when} ask your DNS provider why the name servers of ${finding.hostname} fail.`;
}

function atProvider(finding: UnknownFinding): string {
  const { hostname, servers, ownZone, failing, zone = hostname, parent, target } = finding;
  if (finding.plainAnswer) return `${plainAnswerWords} We check again automatically.`;
  if (ownZone !== undefined && isUnserved(finding)) {
    return `If ${hostname} does not need its own zone: ${deleteOwnZone(hostname, ownZone)} Otherwise correct those NS records. We check again automatically.`;
  }
  const alias =
    target === undefined
      ? ''
      : ` If there is an ALIAS record, first check its value, which must be exactly ${target}: servers fail like this if it points to a missing name.`;
  if (failing !== undefined) {
    return `Ask your DNS provider why its servers fail for ${failing} records of ${hostname}: visitors and certificate authorities query those, too.${alias} We check again automatically.`;
  }
  if (isUnserved(finding)) {
    return `At ${keeperOf(zone, parent)}, check that these are the name servers of the provider where you edit the records of ${foreign(zone)}, and correct them if not. If they are, ask that provider why ${servers.length === 1 ? 'it does' : 'they do'} not answer for it. We check again automatically.`;
  }
  return `We check again automatically. If it lasts, ask your DNS provider why these servers fail.${alias}`;
}

/** No server serves the zone, so the list of name servers can be wrong. */
function isUnserved({ servers, zone, failing, plainAnswer }: UnknownFinding): boolean {
  if (failing !== undefined || plainAnswer) return false;
  return zone !== undefined && servers.every(({ outcome }) => withoutZone.has(outcome));
}

const withoutZone: ReadonlySet<QueryFailure | Unasked> = new Set([
  'timeout',
  'no_address',
  'alias_name',
  'lookup_failed',
  'reserved_address',
  'refused',
]);

/** A zone's servers are listed by name, our resolvers by address. */
function named(server: string): string {
  return ipaddr.isValid(server) ? `our resolver ${server}` : foreign(server);
}
