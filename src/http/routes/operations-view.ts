import { actors, type FindingCode, severities } from '../../core/diagnosis/findings.ts';
import { toUnicodeName } from '../../core/names/idna.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import {
  type OperatorTask,
  operatorTasksOf,
  type Vitals,
} from '../../core/operations/operator-tasks.ts';
import { roleNames } from '../../core/operations/roles.ts';
import type { DnsUnknownDomain, FoundDomain, HourlyEvents } from '../../db/operations.ts';
import type { Overview } from '../../service/overview.ts';

/** A DNS operator whose name servers gave no usable answer for these domains. */
export type OperatorInTrouble = {
  /** Registrable domain of the name servers, or OUR_RESOLVERS. */
  readonly operator: string;
  readonly domains: number;
  /** The first HOSTNAMES_MAX in alphabetical order. */
  readonly hostnames: readonly string[];
};

/** The OperationsOverview of the API. The highest counts come first. */
export function overviewView(overview: Overview) {
  const { at, state, queues, budget } = overview;
  const dnsOperators = operatorsInTrouble(overview.dnsUnknown);
  return {
    at,
    attention: attention(overview, dnsOperators),
    domains: state.domains,
    waiting: overview.waiting,
    overdue: Object.entries(state.overdueSeconds).map(([queue, seconds]) => ({
      queue,
      seconds: Math.floor(seconds),
    })),
    queues: queues && Object.entries(queues).map(([queue, counts]) => ({ queue, ...counts })),
    escalations: byCount(state.escalationsOpen).map(([cause, open]) => ({ cause, open })),
    quarantined: {
      total: totalOf(state.quarantined),
      newest: overview.quarantined,
    },
    findings: overview.findings.filter(isKnown).map(({ code, domains }) => ({
      code,
      severity: severities[code],
      actor: actors[code],
      domains,
    })),
    dnsOperators,
    certificates: {
      byDaysLeft: daysLeft.map((within) => ({ within, domains: state.certificates[within] })),
      soonest: overview.ending,
    },
    activity: { since: overview.recent.since, hours: hoursOf(overview.recent.hours) },
    repairs: overview.repairs,
    turns: overview.turns,
    authorityBudget: budget,
  };
}

/** Most urgent first (src/core/operations/operator-tasks.ts). */
function attention(
  { state, queues, queueMemory, dnsUnknown, fleet: { processes, counts } }: Overview,
  dnsOperators: readonly OperatorInTrouble[],
): readonly OperatorTask[] {
  const { certificates } = state;
  const vitals: Vitals = {
    turnAgeSeconds: state.turnAgeSeconds,
    queueAnswers: queues !== null,
    overdueSeconds: state.overdueSeconds,
    escalationsOpen: totalOf(state.escalationsOpen),
    jobsQuarantined: totalOf(state.quarantined),
    certificates: {
      ended: certificates.ended,
      day: certificates['1'],
    },
    certificatesUnexpected: state.certificatesUnexpected,
    redisMemory: queueMemory,
    postgresConnections: state.postgresConnections,
    dnsOperators: dnsOperators.filter(({ operator }) => operator !== OUR_RESOLVERS),
    ofOurResolvers: dnsUnknown.filter(({ servers }) => servers.length === 0).length,
    attached: totalOf(state.domains),
    fleet: processes,
    rolesMissing: roleNames.filter((role) => counts.processes[role] === 0),
    queuesPaused: Object.entries(queues ?? {}).flatMap(([name, { isPaused }]) =>
      isPaused ? name : [],
    ),
  };
  return operatorTasksOf(vitals);
}

/** The operator if our resolvers found no name servers. Registrable domains contain no space. */
const OUR_RESOLVERS = 'our resolvers';
const OPERATORS_MAX = 10;
const HOSTNAMES_MAX = 3;

/** The OPERATORS_MAX with the most domains. A domain counts for each of its operators. */
export function operatorsInTrouble(
  dnsUnknown: readonly DnsUnknownDomain[],
): readonly OperatorInTrouble[] {
  const byOperator = new Map<string, string[]>();
  for (const { hostname, servers } of dnsUnknown) {
    const named = servers.map((server) => splitAtZone(server).zone);
    for (const operator of new Set(named.length === 0 ? [OUR_RESOLVERS] : named)) {
      const hostnames = byOperator.get(operator) ?? [];
      hostnames.push(hostname);
      byOperator.set(operator, hostnames);
    }
  }
  return [...byOperator]
    .map(([operator, hostnames]) => ({
      operator,
      domains: hostnames.length,
      hostnames: hostnames.toSorted().slice(0, HOSTNAMES_MAX),
    }))
    .sort((a, b) => b.domains - a.domains || a.operator.localeCompare(b.operator))
    .slice(0, OPERATORS_MAX);
}

/** Least time left first. A list, because an object would put integer keys before `ended`. */
const daysLeft = ['ended', '1', '7', '30', 'more'] as const;

/** Keeps the given order. Hours without events are omitted. */
function hoursOf(events: readonly HourlyEvents[]) {
  const byHour = new Map<number, { type: string; count: number }[]>();
  for (const { hour, type, count } of events) {
    const counts = byHour.get(hour.getTime()) ?? [];
    counts.push({ type, count });
    byHour.set(hour.getTime(), counts);
  }
  return [...byHour].map(([at, counts]) => ({ at: new Date(at), counts }));
}

/** Another version can have stored an unknown finding. */
function isKnown(one: { code: string; domains: number }): one is {
  code: FindingCode;
  domains: number;
} {
  return Object.hasOwn(severities, one.code);
}

function totalOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function byCount(counts: Readonly<Record<string, number>>): (readonly [string, number])[] {
  return Object.entries(counts).sort(([, a], [, b]) => b - a);
}

export function foundDomainView({ projectId, projectName, ...found }: FoundDomain) {
  return {
    ...found,
    unicodeHostname: toUnicodeName(found.hostname),
    project: { id: projectId, name: projectName },
  };
}
