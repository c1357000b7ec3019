import { counted } from '../words.ts';
import type { SeenProcess } from './fleet.ts';
import type { QueueName } from './jobs.ts';
import type { Role } from './roles.ts';

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
export type TaskRule = (vitals: Vitals) => OperatorTask | null;

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
