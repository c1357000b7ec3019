/** What an operator has to do now, from the state of the installation. */
import { counted, shortList } from '../names/printable.ts';
import { processInWords, type SeenProcess, troubledIn } from './fleet.ts';
import { type QueueName, queueNames } from './jobs.ts';
import type { Role } from './roles.ts';
import { thresholds } from './thresholds.ts';

// Tasks about processes, queue and storage.

const queueAway: TaskRule = ({ queueAnswers }) => {
  if (queueAnswers) return null;
  return {
    code: 'queue_away',
    urgency: 'act',
    summary:
      'The queue does not answer, so no job runs. Accepted requests are safe in the database.',
    action:
      'Restore Redis, or PostgreSQL if the queue is there. The backlog then drains without a restart.',
  };
};

const noWorker: TaskRule = ({ turnAgeSeconds, rolesMissing }) => {
  const isMissing = rolesMissing.includes('worker');
  const isLate = turnAgeSeconds === null || turnAgeSeconds > thresholds.turnAgeSeconds;
  if (!isMissing && !isLate) return null;
  const since = turnAgeSeconds === null ? 'yet' : `for ${secondsInWords(turnAgeSeconds)}`;
  const what = isLate ? `No worker has run ${since}` : 'No worker is running';
  return {
    code: 'no_worker',
    urgency: 'act',
    summary: `${what}: nothing is checked, issued or renewed.`,
    action: 'Start a process with ROLE=worker, or check the log of the existing one.',
  };
};

const noEdge: TaskRule = ({ rolesMissing }) => {
  if (!rolesMissing.includes('edge')) return null;
  return {
    code: 'role_missing',
    urgency: 'act',
    summary: 'No edge is running: customers’ domains are not served.',
    action: 'Start a process with ROLE=edge, or check the log of the last one.',
  };
};

const refusedProcesses: TaskRule = ({ fleet }) => {
  const troubled = troubledIn(fleet);
  const [first] = troubled;
  if (first === undefined) return null;
  const others = troubled.length - 1;
  return {
    code: 'process_refused',
    urgency: 'act',
    summary: `The configuration of ${processInWords(first)} differs: ${first.problem}${others === 0 ? '' : ` ${counted(others, 'other differs', 'others differ')}, too.`}`,
    action:
      'Set the same value there. If the change is intended, accept it with `signpost fleet accept`; another Redis needs every process stopped (docs/run/fleet.md).',
  };
};

const cutOffProcesses: TaskRule = ({ fleet }) => {
  const cutOff = fleet.filter((one) => one.isCutOff);
  if (cutOff.length === 0) return null;
  return {
    code: 'process_cut_off',
    urgency: 'act',
    summary: `Redis does not answer ${shortList(cutOff.map(processInWords), 3)}, but answers here.`,
    action: 'Check the network between that machine and the host of REDIS_URL.',
  };
};

const differingProcesses: TaskRule = ({ fleet }) => {
  const older = fleet.filter(({ differs }) => differs.length > 0);
  if (older.length === 0) return null;
  const named = older.map(
    (one) => `${processInWords(one)} (${one.differs.map(({ name }) => name).join(', ')})`,
  );
  return {
    code: 'processes_differ',
    urgency: 'watch',
    summary: `An older configuration is in use: ${shortList(named, 3)}.`,
    action: 'Restart them with the current version and variables.',
  };
};

const pausedQueues: TaskRule = ({ queuesPaused }) => {
  if (queuesPaused.length === 0) return null;
  const [are, them] = queuesPaused.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return {
    code: 'queue_paused',
    urgency: 'act',
    summary: `${shortList(queuesPaused, 3)} ${are} paused, so no job in ${them} runs.`,
    action: `Resume ${them} in /ops/queues. Waiting jobs run then.`,
  };
};

const redisFull: TaskRule = ({ redisMemory }) => {
  if (redisMemory === null) return null;
  const share = redisMemory.used / redisMemory.max;
  if (share <= thresholds.redisMemoryShare) return null;
  return {
    code: 'redis_full',
    urgency: 'act',
    summary: `Redis uses ${Math.floor(share * 100)} % of its memory. When it is full, no job is added.`,
    action: 'Raise maxmemory, or empty what else is stored there.',
  };
};

const connectionsExhausted: TaskRule = ({ postgresConnections: { used, max } }) => {
  if (used <= max * thresholds.postgresConnectionsShare) return null;
  return {
    code: 'connections_exhausted',
    urgency: 'act',
    summary: `PostgreSQL has ${used} of ${max} connections in use. Further ones are refused.`,
    action: 'Raise max_connections, or run fewer processes. pg_stat_activity shows who has them.',
  };
};

// Tasks about domains and certificates.

/** A worker that reports it, or enough domains. In a small installation, half of all. */
const resolversSilent: TaskRule = ({ ofOurResolvers: domains, attached, fleet }) => {
  const { atLeast, share, inAnyCase } = thresholds.ofOurResolvers;
  const isMany = domains >= atLeast && domains >= Math.min(attached * share, inAnyCase);
  const isMost = domains > 0 && domains * 2 >= attached;
  const failing = fleet.filter((one) => one.state === 'running' && one.resolversFailing);
  if (!isMany && !isMost && failing.length === 0) return null;
  const whose =
    failing.length === 0 ? '' : ` at ${shortList(failing.map(processInWords), 3, ' and at ')}`;
  return {
    code: 'resolvers_silent',
    urgency: 'act',
    summary: `Our resolvers${whose} couldn’t check ${counted(domains, 'domain')}.`,
    action:
      'Query each of DNS_SERVERS (default: the system’s) from the worker’s machine. Fix or replace the ones that fail. Domains keep their state, and are checked again within a minute of the repair.',
  };
};

const workOverdue: TaskRule = ({ overdueSeconds, queuesPaused }) => {
  const late = queueNames
    .filter((queue) => overdueSeconds[queue] > thresholds.overdueSeconds[queue])
    .filter((queue) => !queuesPaused.includes(queue))
    .map((queue) => [queue, overdueSeconds[queue]] as const)
    .sort(([, a], [, b]) => b - a);
  const [worst] = late;
  if (worst === undefined) return null;
  const others = late.slice(1).map(([queue]) => queue);
  return {
    code: 'work_overdue',
    urgency: 'act',
    summary: `${worst[0]} is ${secondsInWords(worst[1])} late${others.length === 0 ? '' : `. Also late: ${others.join(', ')}`}.`,
    action:
      'Start more workers if the queue grows. If it does not, check the job of the oldest domain below.',
  };
};

const certificatesEnded: TaskRule = ({ certificates: { ended } }) => {
  if (ended === 0) return null;
  return {
    code: 'certificates_ended',
    urgency: 'act',
    summary: `${counted(ended, 'served domain has', 'served domains have')} an expired certificate. Visitors see a warning.`,
    action: 'Start with those that expired first, below. Each says why it was not renewed.',
  };
};

const openEscalations: TaskRule = ({ escalationsOpen }) => {
  if (escalationsOpen === 0) return null;
  return {
    code: 'escalations_open',
    urgency: 'act',
    summary: `The certificate of ${counted(escalationsOpen, 'domain')} could not be issued or renewed.`,
    action:
      'Each shows its cause and the next automatic step. Act on those caused by this platform.',
  };
};

const quarantinedJobs: TaskRule = ({ jobsQuarantined }) => {
  if (jobsQuarantined === 0) return null;
  return {
    code: 'jobs_quarantined',
    urgency: 'act',
    summary: `${counted(jobsQuarantined, 'job')} failed repeatedly and ${jobsQuarantined === 1 ? 'was' : 'were'} quarantined.`,
    action:
      'The reason is a fault in this platform. Fix it, then retry the job on the domain’s page.',
  };
};

const certificatesEndSoon: TaskRule = ({ certificates: { day } }) => {
  if (day === 0) return null;
  return {
    code: 'certificates_end_soon',
    urgency: 'act',
    summary: `${counted(day, 'certificate expires', 'certificates expire')} within a day.`,
    action:
      'Certificates are renewed with a third of their lifetime left. Start with those that expire first, below.',
  };
};

/** A worker with another configuration, or a CA that was removed from it today. */
const unexpectedAuthority: TaskRule = ({ certificatesUnexpected: found }) => {
  if (found === 0) return null;
  return {
    code: 'certificates_unexpected',
    urgency: 'act',
    summary: `${counted(found, 'certificate')} of the last day ${found === 1 ? 'is' : 'are'} from a CA that is not configured. Browsers can reject ${found === 1 ? 'it' : 'them'}.`,
    action:
      'Compare ACME_DIRECTORY_URL and ACME_FALLBACK_DIRECTORY_URL of all workers. If you changed the CA today, this ends within a day.',
  };
};

const silentOperators: TaskRule = ({ dnsOperators }) => {
  const silent = dnsOperators.filter(({ domains }) => domains >= thresholds.operatorDomains);
  if (silent.length === 0) return null;
  const named = silent.map(({ operator, domains }) => `${operator} (${domains} domains)`);
  return {
    code: 'dns_operator_silent',
    urgency: 'watch',
    summary: `We couldn’t check domains with name servers of ${shortList(named, 3)}.`,
    action:
      'These domains keep their state and are checked again. Check whether that operator has an outage or rate limits our queries.',
  };
};

type Share = { readonly used: number; readonly max: number };

export type Vitals = {
  /** Since the last run of the reconciler; null: it never ran. */
  readonly turnAgeSeconds: number | null;
  readonly queueAnswers: boolean;
  /** Of the most overdue item. */
  readonly overdueSeconds: { readonly [N in QueueName]: number };
  readonly escalationsOpen: number;
  readonly jobsQuarantined: number;
  /** Served domains by their certificate's remaining lifetime. Each domain counts once. */
  readonly certificates: { readonly ended: number; readonly day: number };
  /** Of the last day, from a CA that is not configured. */
  readonly certificatesUnexpected: number;
  /** How many domains could not be checked because of each DNS operator. */
  readonly dnsOperators: readonly { readonly operator: string; readonly domains: number }[];
  /** Domains that could not be checked because of our own resolvers or network. */
  readonly ofOurResolvers: number;
  readonly attached: number;
  readonly queuesPaused: readonly string[];
  readonly fleet: readonly SeenProcess[];
  /** Needed, and without a running process. */
  readonly rolesMissing: readonly Role[];
  /** Null if it is not in Redis, or does not answer. */
  readonly redisMemory: Share | null;
  /** Of the database server. */
  readonly postgresConnections: Share;
};

export type OperatorTaskCode =
  | 'queue_away'
  | 'no_worker'
  | 'role_missing'
  | 'process_cut_off'
  | 'process_refused'
  | 'queue_paused'
  | 'redis_full'
  | 'connections_exhausted'
  | 'resolvers_silent'
  | 'work_overdue'
  | 'certificates_unexpected'
  | 'certificates_ended'
  | 'certificates_end_soon'
  | 'escalations_open'
  | 'jobs_quarantined'
  | 'dns_operator_silent'
  | 'processes_differ';

/** `act`: customers are affected now or within a day. `watch`: it can resolve without action. */
export type Urgency = 'act' | 'watch';

export type OperatorTask = {
  readonly code: OperatorTaskCode;
  readonly urgency: Urgency;
  readonly summary: string;
  readonly action: string;
};

/** Null: nothing to do. */
type TaskRule = (vitals: Vitals) => OperatorTask | null;

/** In the largest unit with a value of at least two, rounded down: `119 seconds`. */
export function secondsInWords(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [size, name] = units.find(([length]) => seconds >= length * 2) ?? [1, 'second'];
  return counted(Math.floor(seconds / size), name);
}

/** In the order in which to fix them. */
const rules: readonly TaskRule[] = [
  queueAway,
  noWorker,
  noEdge,
  refusedProcesses,
  cutOffProcesses,
  pausedQueues,
  redisFull,
  connectionsExhausted,
  resolversSilent,
  workOverdue,
  unexpectedAuthority,
  certificatesEnded,
  openEscalations,
  quarantinedJobs,
  certificatesEndSoon,
  silentOperators,
  differingProcesses,
];

/** Hidden while their cause is shown. */
const consequences: { readonly [C in OperatorTaskCode]?: readonly OperatorTaskCode[] } = {
  queue_away: ['work_overdue', 'no_worker', 'process_cut_off'],
  no_worker: ['work_overdue'],
  resolvers_silent: ['dns_operator_silent'],
};

/** One task per cause, however many domains it concerns. */
export function operatorTasksOf(vitals: Vitals): readonly OperatorTask[] {
  const tasks = rules.flatMap((rule) => rule(vitals) ?? []);
  const explained = new Set(tasks.flatMap(({ code }) => consequences[code] ?? []));
  return tasks.filter(({ code }) => !explained.has(code));
}
