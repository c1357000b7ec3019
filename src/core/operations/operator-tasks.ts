import { shortList } from '../names/printable.ts';

export type Vitals = {
  /** Since the last run of the reconciler; null: it never ran. */
  readonly turnAgeSeconds: number | null;
  readonly queueAnswers: boolean;
  /** Of the most overdue item, by queue. */
  readonly overdueSeconds: Readonly<Record<string, number>>;
  readonly escalationsOpen: number;
  readonly jobsSetAside: number;
  /** Served domains by their certificate's remaining lifetime. Each domain counts once. */
  readonly certificates: { readonly ended: number; readonly day: number; readonly week: number };
  /** How many domains could not be checked because of each DNS operator. */
  readonly dnsOperators: readonly { readonly operator: string; readonly domains: number }[];
  /** Domains whose name servers our resolvers did not find. */
  readonly ofOurResolvers: number;
  readonly attached: number;
  readonly queuesPaused: readonly string[];
};

export type OperatorTaskCode =
  | 'no_worker'
  | 'queue_paused'
  | 'resolvers_silent'
  | 'queue_away'
  | 'work_overdue'
  | 'certificates_ended'
  | 'escalations_open'
  | 'jobs_set_aside'
  | 'certificates_end_soon'
  | 'dns_operator_silent';

/** `act`: customers are affected now or within a day. `watch`: it can resolve without action. */
export type Urgency = 'act' | 'watch';

export type OperatorTask = {
  readonly code: OperatorTaskCode;
  readonly urgency: Urgency;
  readonly summary: string;
  readonly action: string;
};

const limits = {
  /** The reconciler runs every minute. */
  turnAgeSeconds: 300,
  /** Equals the longest wait between two checks of a pending domain. */
  overdueSeconds: 300,
  /** Fewer are usually customers' mistakes. */
  silentDomains: 5,
  /** In an installation with more domains, fewer failures are usually broken zones. */
  ofOurResolvers: { atLeast: 5, share: 0.1, inAnyCase: 1_000 },
} as const;

/** In the order in which to fix them. */
export function operatorTasksOf(vitals: Vitals): readonly OperatorTask[] {
  return rules.flatMap((rule) => rule(vitals) ?? []);
}

type Rule = (vitals: Vitals) => OperatorTask | null;

const rules: readonly Rule[] = [
  queueAway,
  noWorker,
  paused,
  resolversSilent,
  overdue,
  certificatesEnded,
  escalations,
  setAside,
  certificatesEndSoon,
  silentOperators,
];

function queueAway({ queueAnswers }: Vitals): OperatorTask | null {
  if (queueAnswers) return null;
  return {
    code: 'queue_away',
    urgency: 'act',
    summary:
      'The queue does not answer, so no job runs. Accepted requests are safe in the database.',
    action:
      'Restore Redis, or PostgreSQL if the queue is there. The backlog then drains without a restart.',
  };
}

function noWorker({ turnAgeSeconds }: Vitals): OperatorTask | null {
  if (turnAgeSeconds !== null && turnAgeSeconds <= limits.turnAgeSeconds) return null;
  return {
    code: 'no_worker',
    urgency: 'act',
    summary:
      turnAgeSeconds === null
        ? 'No worker has run yet: nothing is checked, issued or renewed.'
        : `No worker has run for ${secondsInWords(turnAgeSeconds)}: nothing is checked, issued or renewed.`,
    action: 'Start a process with ROLE=worker, or check the log of the existing one.',
  };
}

function paused({ queuesPaused }: Vitals): OperatorTask | null {
  if (queuesPaused.length === 0) return null;
  const [are, them] = queuesPaused.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return {
    code: 'queue_paused',
    urgency: 'act',
    summary: `${shortList(queuesPaused, 3)} ${are} paused, so no job in ${them} runs.`,
    action: `Resume ${them} in /ops/queues. Waiting jobs run then.`,
  };
}

/** Also if half of all domains are affected: a small installation never reaches five. */
function resolversSilent({ ofOurResolvers: domains, attached }: Vitals): OperatorTask | null {
  const { atLeast, share, inAnyCase } = limits.ofOurResolvers;
  const isMany = domains >= atLeast && domains >= Math.min(attached * share, inAnyCase);
  const isMost = domains > 0 && domains * 2 >= attached;
  if (!isMany && !isMost) return null;
  return {
    code: 'resolvers_silent',
    urgency: 'act',
    summary: `Our resolvers couldn’t check ${count(domains, 'domain', 'domains')}.`,
    action:
      'Query each of DNS_SERVERS (default: the system’s) from a worker’s machine. Fix or replace the ones that fail. Until then, domains keep their state.',
  };
}

function overdue({ overdueSeconds }: Vitals): OperatorTask | null {
  const late = Object.entries(overdueSeconds)
    .filter(([, seconds]) => seconds > limits.overdueSeconds)
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
}

function certificatesEnded({ certificates: { ended } }: Vitals): OperatorTask | null {
  if (ended === 0) return null;
  return {
    code: 'certificates_ended',
    urgency: 'act',
    summary: `${count(ended, 'served domain has', 'served domains have')} an expired certificate. Visitors see a warning.`,
    action: 'Start with those that expired first, below. Each says why it was not renewed.',
  };
}

function escalations({ escalationsOpen }: Vitals): OperatorTask | null {
  if (escalationsOpen === 0) return null;
  return {
    code: 'escalations_open',
    urgency: 'act',
    summary: `The certificate of ${count(escalationsOpen, 'domain', 'domains')} could not be issued or renewed.`,
    action:
      'Each shows its cause and the next automatic step. Act on those caused by this platform.',
  };
}

function setAside({ jobsSetAside }: Vitals): OperatorTask | null {
  if (jobsSetAside === 0) return null;
  return {
    code: 'jobs_set_aside',
    urgency: 'act',
    summary: `${count(jobsSetAside, 'job', 'jobs')} failed repeatedly and ${jobsSetAside === 1 ? 'was' : 'were'} quarantined.`,
    action:
      'The reason is a fault in this platform. Fix it, then retry the job on the domain’s page.',
  };
}

function certificatesEndSoon({ certificates: { day, week } }: Vitals): OperatorTask | null {
  const soon = day + week;
  if (soon === 0) return null;
  return {
    code: 'certificates_end_soon',
    urgency: day > 0 ? 'act' : 'watch',
    summary:
      day > 0
        ? `${count(day, 'certificate expires', 'certificates expire')} within a day.`
        : `${count(week, 'certificate expires', 'certificates expire')} within a week.`,
    action:
      'Certificates are renewed with a third of their lifetime left. Start with those that expire first, below.',
  };
}

function silentOperators({ dnsOperators }: Vitals): OperatorTask | null {
  const silent = dnsOperators.filter(({ domains }) => domains >= limits.silentDomains);
  if (silent.length === 0) return null;
  const named = silent.map(({ operator, domains }) => `${operator} (${domains} domains)`);
  return {
    code: 'dns_operator_silent',
    urgency: 'watch',
    summary: `We couldn’t check domains with name servers of ${shortList(named, 3)}.`,
    action:
      'These domains keep their state and are checked again. Check whether that operator has an outage or rate limits our queries.',
  };
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** In the largest unit with a value of at least two, rounded down: `119 seconds`. */
export function secondsInWords(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [size, name] = units.find(([length]) => seconds >= length * 2) ?? [1, 'second'];
  const number = Math.floor(seconds / size);
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}
