/** What an operator has to do now, from the state of the installation. */
import { counted, shortList } from '../names/printable.ts';
import { processInWords, type SeenProcess, troubledIn } from './fleet.ts';
import { type QueueName, queueNames } from './jobs.ts';
import type { Role } from './roles.ts';
import { thresholds } from './thresholds.ts';

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

/** `act`: customers are affected now or within a day. `watch`: it can resolve without action. */
export type Urgency = 'act' | 'watch';

type TaskRule = {
  /** `act` if missing. */
  readonly urgency?: Urgency;
  /** Null: nothing to do. */
  readonly summary: (vitals: Vitals) => string | null;
  readonly action: string | ((vitals: Vitals) => string);
};

/** In the order in which to fix them. */
const tasks = {
  queue_away: {
    summary: ({ queueAnswers }) =>
      queueAnswers
        ? null
        : 'The queue does not answer, so no job runs. Accepted requests are safe in the database.',
    action:
      'Restore Redis, or PostgreSQL if the queue is there. The backlog then drains without a restart.',
  },
  no_worker: {
    summary: ({ turnAgeSeconds, rolesMissing }) => {
      const isMissing = rolesMissing.includes('worker');
      const isLate = turnAgeSeconds === null || turnAgeSeconds > thresholds.turnAgeSeconds;
      if (!isMissing && !isLate) return null;
      const since = turnAgeSeconds === null ? 'yet' : `for ${secondsInWords(turnAgeSeconds)}`;
      const what = isLate ? `No worker has run ${since}` : 'No worker is running';
      return `${what}: nothing is checked, issued or renewed.`;
    },
    action: 'Start a process with ROLE=worker, or check the log of the existing one.',
  },
  role_missing: {
    summary: ({ rolesMissing }) =>
      !rolesMissing.includes('edge')
        ? null
        : 'No edge is running: customers’ domains are not served.',
    action: 'Start a process with ROLE=edge, or check the log of the last one.',
  },
  process_refused: {
    summary: ({ fleet }) => {
      const troubled = troubledIn(fleet);
      const [first] = troubled;
      if (first === undefined) return null;
      const others = troubled.length - 1;
      return `The configuration of ${processInWords(first)} differs: ${first.problem}${others === 0 ? '' : ` ${counted(others, 'other differs', 'others differ')}, too.`}`;
    },
    action:
      'Set the same value there. If the change is intended, accept it with `signpost fleet accept`; another Redis needs every process stopped (docs/run/fleet.md).',
  },
  process_cut_off: {
    summary: ({ fleet }) => {
      const cutOff = fleet.filter((one) => one.isCutOff);
      if (cutOff.length === 0) return null;
      return `Redis does not answer ${shortList(cutOff.map(processInWords), 3)}, but answers here.`;
    },
    action: 'Check the network between that machine and the host of REDIS_URL.',
  },
  queue_paused: {
    summary: ({ queuesPaused }) => {
      if (queuesPaused.length === 0) return null;
      const [are, them] = queuesPaused.length === 1 ? ['is', 'it'] : ['are', 'them'];
      return `${shortList(queuesPaused, 3)} ${are} paused, so no job in ${them} runs.`;
    },
    action: ({ queuesPaused }) =>
      `Resume ${queuesPaused.length === 1 ? 'it' : 'them'} in /ops/queues. Waiting jobs run then.`,
  },
  redis_full: {
    summary: ({ redisMemory }) => {
      if (redisMemory === null) return null;
      const share = redisMemory.used / redisMemory.max;
      if (share <= thresholds.redisMemoryShare) return null;
      return `Redis uses ${Math.floor(share * 100)} % of its memory. When it is full, no job is added.`;
    },
    action: 'Raise maxmemory, or empty what else is stored there.',
  },
  connections_exhausted: {
    summary: ({ postgresConnections: { used, max } }) =>
      used <= max * thresholds.postgresConnectionsShare
        ? null
        : `PostgreSQL has ${used} of ${max} connections in use. Further ones are refused.`,
    action: 'Raise max_connections, or run fewer processes. pg_stat_activity shows who has them.',
  },
  /** A worker that reports it, or enough domains. In a small installation, half of all. */
  resolvers_silent: {
    summary: ({ ofOurResolvers: domains, attached, fleet }) => {
      const { atLeast, share, inAnyCase } = thresholds.ofOurResolvers;
      const isMany = domains >= atLeast && domains >= Math.min(attached * share, inAnyCase);
      const isMost = domains > 0 && domains * 2 >= attached;
      const failing = fleet.filter((one) => one.state === 'running' && one.resolversFailing);
      if (!isMany && !isMost && failing.length === 0) return null;
      const whose =
        failing.length === 0 ? '' : ` at ${shortList(failing.map(processInWords), 3, ' and at ')}`;
      return `Our resolvers${whose} couldn’t check ${counted(domains, 'domain')}.`;
    },
    action:
      'Query each of DNS_SERVERS (default: the system’s) from the worker’s machine. Fix or replace the ones that fail. Domains keep their state, and are checked again within a minute of the repair.',
  },
  work_overdue: {
    summary: ({ overdueSeconds, queuesPaused }) => {
      const late = queueNames
        .filter((queue) => overdueSeconds[queue] > thresholds.overdueSeconds[queue])
        .filter((queue) => !queuesPaused.includes(queue))
        .map((queue) => [queue, overdueSeconds[queue]] as const)
        .sort(([, a], [, b]) => b - a);
      const [worst] = late;
      if (worst === undefined) return null;
      const others = late.slice(1).map(([queue]) => queue);
      return `${worst[0]} is ${secondsInWords(worst[1])} late${others.length === 0 ? '' : `. Also late: ${others.join(', ')}`}.`;
    },
    action:
      'Start more workers if the queue grows. If it does not, check the job of the oldest domain below.',
  },
  /** A worker with another configuration, or a CA that was removed from it today. */
  certificates_unexpected: {
    summary: ({ certificatesUnexpected: count }) =>
      count === 0
        ? null
        : `${counted(count, 'certificate')} of the last day ${count === 1 ? 'is' : 'are'} from a CA that is not configured. Browsers can reject ${count === 1 ? 'it' : 'them'}.`,
    action:
      'Compare ACME_DIRECTORY_URL and ACME_FALLBACK_DIRECTORY_URL of all workers. If you changed the CA today, this ends within a day.',
  },
  certificates_ended: {
    summary: ({ certificates: { ended } }) =>
      ended === 0
        ? null
        : `${counted(ended, 'served domain has', 'served domains have')} an expired certificate. Visitors see a warning.`,
    action: 'Start with those that expired first, below. Each says why it was not renewed.',
  },
  escalations_open: {
    summary: ({ escalationsOpen }) =>
      escalationsOpen === 0
        ? null
        : `The certificate of ${counted(escalationsOpen, 'domain')} could not be issued or renewed.`,
    action:
      'Each shows its cause and the next automatic step. Act on those caused by this platform.',
  },
  jobs_quarantined: {
    summary: ({ jobsQuarantined }) =>
      jobsQuarantined === 0
        ? null
        : `${counted(jobsQuarantined, 'job')} failed repeatedly and ${jobsQuarantined === 1 ? 'was' : 'were'} quarantined.`,
    action:
      'The reason is a fault in this platform. Fix it, then retry the job on the domain’s page.',
  },
  certificates_end_soon: {
    summary: ({ certificates: { day } }) =>
      day === 0
        ? null
        : `${counted(day, 'certificate expires', 'certificates expire')} within a day.`,
    action:
      'Certificates are renewed with a third of their lifetime left. Start with those that expire first, below.',
  },
  dns_operator_silent: {
    urgency: 'watch',
    summary: ({ dnsOperators }) => {
      const silent = dnsOperators.filter(({ domains }) => domains >= thresholds.operatorDomains);
      if (silent.length === 0) return null;
      const named = silent.map(({ operator, domains }) => `${operator} (${domains} domains)`);
      return `We couldn’t check domains with name servers of ${shortList(named, 3)}.`;
    },
    action:
      'These domains keep their state and are checked again. Check whether that operator has an outage or rate limits our queries.',
  },
  processes_differ: {
    urgency: 'watch',
    summary: ({ fleet }) => {
      const older = fleet.filter(({ differs }) => differs.length > 0);
      if (older.length === 0) return null;
      const named = older.map(
        (one) => `${processInWords(one)} (${one.differs.map(({ name }) => name).join(', ')})`,
      );
      return `An older configuration is in use: ${shortList(named, 3)}.`;
    },
    action: 'Restart them with the current version and variables.',
  },
} as const satisfies Readonly<Record<string, TaskRule>>;

export type OperatorTaskCode = keyof typeof tasks;

export type OperatorTask = {
  readonly code: OperatorTaskCode;
  readonly urgency: Urgency;
  readonly summary: string;
  readonly action: string;
};

/** Hidden while their cause is shown. */
const consequences: { readonly [C in OperatorTaskCode]?: readonly OperatorTaskCode[] } = {
  queue_away: ['work_overdue', 'no_worker', 'process_cut_off'],
  no_worker: ['work_overdue'],
  resolvers_silent: ['dns_operator_silent'],
};

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

/** One task per cause, however many domains it concerns. */
export function operatorTasksOf(vitals: Vitals): readonly OperatorTask[] {
  const due = (Object.keys(tasks) as OperatorTaskCode[]).flatMap((code): OperatorTask | [] => {
    const { urgency = 'act', summary: summarize, action }: TaskRule = tasks[code];
    const summary = summarize(vitals);
    if (summary === null) return [];
    return { code, urgency, summary, action: typeof action === 'string' ? action : action(vitals) };
  });
  const explained = new Set(due.flatMap(({ code }) => consequences[code] ?? []));
  return due.filter(({ code }) => !explained.has(code));
}
