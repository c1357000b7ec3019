/** A job as the queue keeps it: its ids, and what it has met since it last went well. Parsed at the boundary. */
import { z } from 'zod';
import { type AnyJob, type JobOf, jobId, type QueueName } from '../../src/core/operations/jobs.ts';

/** Nothing of it is stored in a job that has met no trouble: Redis keeps a hundred thousand of them. */
const trouble = {
  /** Faults in a row, of ours: ten of them set the job aside. */
  faults: z.int().min(0).optional(),
  /** Attempts in a row that met an outage. */
  outages: z.int().min(0).optional(),
  /** How many deaths of its worker are forgiven, because an attempt has come to its end since. */
  forgiven: z.int().min(0).optional(),
  /** How often it has begun to run alone and not come to an end. */
  alone: z.int().min(0).optional(),
  /** It comes back from quarantine: the next fault or death sets it aside again. */
  probation: z.literal(true).optional(),
};

const domainJob = z.object({ domainId: z.uuid(), epoch: z.int(), ...trouble });
const sweepJob = z.object(trouble);
const schemas = {
  'check-dns': domainJob,
  'issue-certificate': domainJob,
  'escalate-certificate': domainJob,
  'recheck-live': sweepJob,
  'renew-certificate': sweepJob,
  'deliver-webhook': z.object({ deliveryId: z.uuid(), ...trouble }),
} as const satisfies { readonly [N in QueueName]: z.ZodType };

/** What a job has met since it last went well; all 0 and false for most. */
export type Trouble = {
  /** Faults of ours in a row. */
  readonly faults: number;
  /** Attempts in a row that met an outage. */
  readonly outages: number;
  /** How many deaths of its worker no longer count. */
  readonly forgiven: number;
  /** How often it has begun to run alone and not come to an end. */
  readonly alone: number;
  /** Whether the next fault or death sets it aside again. */
  readonly probation: boolean;
};

/** What a worker is given: the job, and its trouble with every blank filled in; or why it is none. */
export type ParsedJob<N extends QueueName> =
  | { readonly ok: true; readonly job: JobOf<N>; readonly trouble: Trouble }
  | { readonly ok: false; readonly reason: string };

/**
 * Parses what the queue holds. Refuses what is not a job of this queue, also one under an id that is not its own. Never
 * throws; the reason holds nothing of the data.
 */
export function parseJob<N extends QueueName>(
  name: N,
  stored: { readonly id?: string | undefined; readonly data: unknown },
): ParsedJob<N> {
  const parsed = schemas[name].safeParse(stored.data);
  if (!parsed.success) return { ok: false, reason: `no job of this queue: ${why(parsed.error)}` };
  const {
    faults = 0,
    outages = 0,
    forgiven = 0,
    alone = 0,
    probation = false,
    ...rest
  } = parsed.data;
  const job = rest as JobOf<N>; // the schema of the queue's own name has parsed it
  if (jobId(job) !== stored.id) return { ok: false, reason: 'no job of this queue: foreign id' };
  return { ok: true, job, trouble: { faults, outages, forgiven, alone, probation } };
}

/** Returns what the queue is to keep: the ids, and of the trouble what there is. */
export function toStored(job: AnyJob, trouble: Trouble): AnyJob {
  const { faults, outages, forgiven, alone, probation } = trouble;
  return {
    ...job,
    ...(faults > 0 && { faults }),
    ...(outages > 0 && { outages }),
    ...(forgiven > 0 && { forgiven }),
    ...(alone > 0 && { alone }),
    ...(probation && { probation }),
  };
}

/** Paths and codes only: the data is foreign, and may hold anything. */
function why({ issues }: z.ZodError): string {
  return issues.map(({ path, code }) => `${path.join('.') || 'data'} ${code}`).join(', ');
}

/** How an attempt of a job ended, where it met no fault. */
export type JobResult =
  | { readonly kind: 'done' }
  /**
   * The same job again at that time: waiting for a customer is never a failed job. `owner`: the project with whose account's
   * jobs it then takes turns; missing: it keeps its priority.
   */
  | { readonly kind: 'again'; readonly at: Date; readonly note: string; readonly owner?: string }
  /** Over for good, with the reason. */
  | { readonly kind: 'over'; readonly reason: string };

/** The attempt is over, and there is nothing left to do. */
export const done: JobResult = { kind: 'done' };

/** Somebody else saved first: the job runs again in a second, so that exactly one history is written. */
export function retryNow(now: Date): JobResult {
  return {
    kind: 'again',
    at: new Date(now.getTime() + 1_000),
    note: 'saved by another; checking again',
  };
}
