/** Whether anything is wrong with the installation, and what an operator does about it: the gravest first. */
import { shortList } from '../names/printable.ts';

/** What the tasks are decided from. Times in seconds, at the moment of the reading. */
export type Vitals = {
  /** Since a worker took the reconciler's last turn; null where there has never been one. */
  readonly turnAgeSeconds: number | null;
  /** Whether the queue answered. */
  readonly queueAnswers: boolean;
  /** How late what is longest overdue is, by queue. */
  readonly overdueSeconds: Readonly<Record<string, number>>;
  readonly escalationsOpen: number;
  readonly jobsSetAside: number;
  /** Served domains by what is left of their certificate; `day` and `week` without those before them. */
  readonly certificates: { readonly ended: number; readonly day: number; readonly week: number };
  /** Operators of name servers, with how many domains could not be checked because of them. */
  readonly dnsOperators: readonly { readonly operator: string; readonly domains: number }[];
  /** Domains that could not be checked because our own resolvers did not lead to their name servers. */
  readonly ofOurResolvers: number;
  /** Domains, whatever their status. */
  readonly attached: number;
  /** The names of those that somebody has paused. */
  readonly queuesPaused: readonly string[];
};

/** What is wrong, as the API spells it. */
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

/** `act`: customers are affected, or will be within a day. `watch`: it may pass by itself. */
export type Urgency = 'act' | 'watch';

/** One thing that is wrong with the installation, in words for its operator. */
export type OperatorTask = {
  readonly code: OperatorTaskCode;
  readonly urgency: Urgency;
  /** What is wrong. */
  readonly summary: string;
  /** What to do about it. */
  readonly action: string;
};

/** All of them our choice. */
const limits = {
  /** The reconciler has a turn each minute. */
  turnAgeSeconds: 300,
  /** The longest wait of the ladder is as long. */
  overdueSeconds: 300,
  /** Of one operator; fewer are customers' own mistakes, more often than not. */
  silentDomains: 5,
  /** Fewer, of an installation that has more, are zones that fail in themselves. */
  ofOurResolvers: { atLeast: 5, share: 0.1, inAnyCase: 1_000 },
} as const;

/** Returns what is wrong, in the order in which it is to be put right. Empty: nothing is known to be wrong. */
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
      'The queue does not answer, so no job runs. What was accepted is safe in the database.',
    action:
      'Bring Redis back, or PostgreSQL where the queue is there. The backlog drains by itself; nothing has to be restarted.',
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
        : `No worker has taken a turn for ${inWords(turnAgeSeconds)}: nothing is checked, issued or renewed.`,
    action: 'Start a process with ROLE=worker, or read the log of the one that should run.',
  };
}

function paused({ queuesPaused }: Vitals): OperatorTask | null {
  if (queuesPaused.length === 0) return null;
  const [are, them] = queuesPaused.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return {
    code: 'queue_paused',
    urgency: 'act',
    summary: `${shortList(queuesPaused, 3)} ${are} paused: nothing in ${them} runs.`,
    action: `Resume ${them} in /ops/queues. What is due meanwhile waits, and runs then.`,
  };
}

/** Where many domains are concerned, or half of all: a small installation never has five. */
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
      'Ask each of DNS_SERVERS (the system’s, where it is not set) for some name, from the machine of a worker: one that fails has to be mended or replaced. Domains keep their state meanwhile.',
  };
}

/** Names the queue that is latest with its delay, and the others without. */
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
    summary: `${worst[0]} is ${inWords(worst[1])} late${others.length === 0 ? '' : `, and so ${others.length === 1 ? 'is' : 'are'} ${others.join(', ')}`}.`,
    action:
      'Start more workers where the queue grows; where it does not, check the oldest domain below and what its job says.',
  };
}

function certificatesEnded({ certificates: { ended } }: Vitals): OperatorTask | null {
  if (ended === 0) return null;
  return {
    code: 'certificates_ended',
    urgency: 'act',
    summary: `${count(ended, 'domain that was', 'domains that were')} served ${ended === 1 ? 'has' : 'have'} a certificate that has ended: browsers warn.`,
    action: 'Start with those that expire first, below: each says why it was not renewed.',
  };
}

function escalations({ escalationsOpen }: Vitals): OperatorTask | null {
  if (escalationsOpen === 0) return null;
  return {
    code: 'escalations_open',
    urgency: 'act',
    summary: `${count(escalationsOpen, 'domain gets', 'domains get')} no certificate, or no next one.`,
    action:
      'Each shows its cause and what happens next automatically; act where the cause is ours.',
  };
}

function setAside({ jobsSetAside }: Vitals): OperatorTask | null {
  if (jobsSetAside === 0) return null;
  return {
    code: 'jobs_set_aside',
    urgency: 'act',
    summary: `${count(jobsSetAside, 'job went', 'jobs went')} wrong again and again, and ${jobsSetAside === 1 ? 'was' : 'were'} set aside.`,
    action: 'Read the reason: it is a fault of ours. Mend it, then retry the job at its domain.',
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
        ? `${count(day, 'certificate ends', 'certificates end')} within a day.`
        : `${count(week, 'certificate ends', 'certificates end')} within a week.`,
    action:
      'A certificate is renewed with a third of its life left. Start with those that expire first, below.',
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
      'Nothing is lost: such domains keep their state and are asked again. See whether that operator has an outage, or limits our questions.',
  };
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** A duration in the largest unit of which it has two or more, rounded down: `12 minutes`, `119 seconds`. */
export function inWords(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [size, name] = units.find(([length]) => seconds >= length * 2) ?? [1, 'second'];
  const number = Math.floor(seconds / size);
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}
