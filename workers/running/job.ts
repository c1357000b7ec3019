/** A job as stored in the queue: its ids, and its failures since it last succeeded. */
import { z } from 'zod';
import { type AnyJob, type JobOf, jobId, type QueueName } from '../../src/core/operations/jobs.ts';

/** Fields are omitted until a failure: Redis holds a hundred thousand jobs. */
const trouble = {
  faults: z.int().min(0).optional(),
  outages: z.int().min(0).optional(),
  forgiven: z.int().min(0).optional(),
  alone: z.int().min(0).optional(),
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

/** The failures of a job since it last succeeded; all 0 and false for most. */
export type Trouble = {
  /** In a row; `quarantine.faultsMax` of them quarantine the job. */
  readonly faults: number;
  /** Attempts in a row during an outage. */
  readonly outages: number;
  /** Worker crashes that no longer count, because an attempt has finished since. */
  readonly forgiven: number;
  /** How often it started to run alone and did not finish. */
  readonly alone: number;
  /** It returned from quarantine: the next fault or crash quarantines it again. */
  readonly probation: boolean;
};

export type ParsedJob<N extends QueueName> =
  | { readonly ok: true; readonly job: JobOf<N>; readonly trouble: Trouble }
  | { readonly ok: false; readonly reason: string };

/** Never throws; the reason contains no data. */
export function parseJob<N extends QueueName>(
  name: N,
  stored: { readonly id?: string | undefined; readonly data: unknown },
): ParsedJob<N> {
  const parsed = schemas[name].safeParse(stored.data);
  if (!parsed.success)
    return { ok: false, reason: `not a job of this queue: ${why(parsed.error)}` };
  const {
    faults = 0,
    outages = 0,
    forgiven = 0,
    alone = 0,
    probation = false,
    ...rest
  } = parsed.data;
  const job = rest as JobOf<N>; // parsed by the schema of this queue
  if (jobId(job) !== stored.id) return { ok: false, reason: 'not a job of this queue: foreign id' };
  return { ok: true, job, trouble: { faults, outages, forgiven, alone, probation } };
}

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

/** Paths and codes only, since foreign data can contain anything. */
function why({ issues }: z.ZodError): string {
  return issues.map(({ path, code }) => `${path.join('.') || 'data'} ${code}`).join(', ');
}

/** How an attempt ended without a fault. */
export type JobResult =
  | { readonly kind: 'done' }
  /** The same job again at that time. Waiting for a customer is not a failure. */
  | { readonly kind: 'again'; readonly at: Date; readonly note: string }
  /** Ended for good. */
  | { readonly kind: 'over'; readonly reason: string };

export const done: JobResult = { kind: 'done' };

/** Another save came first: the job runs again in a second, so that only one history is written. */
export function retryNow(now: Date): JobResult {
  return {
    kind: 'again',
    at: new Date(now.getTime() + 1_000),
    note: 'another save came first; checking again',
  };
}
