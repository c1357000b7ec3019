/** The queues and what their jobs carry: ids only, never state. */
/** One job per domain and epoch in each: the domain waits for something of its own. */
export const domainQueues = ['check-dns', 'issue-certificate', 'escalate-certificate'] as const;
/** One job each, for ever put off again: a run works through the rows that are due in PostgreSQL. */
export const sweepQueues = ['recheck-live', 'renew-certificate'] as const;
/** Every queue there is. */
export const queueNames = [...domainQueues, ...sweepQueues, 'deliver-webhook'] as const;

/** A queue whose jobs are each about one domain. */
export type DomainQueue = (typeof domainQueues)[number];
/** A queue with one job that is put off again after each run. */
export type SweepQueue = (typeof sweepQueues)[number];
/** The name of any queue. */
export type QueueName = (typeof queueNames)[number];

/** `epoch` fences the job: one of an earlier epoch of the domain changes nothing. */
export type DomainJob = { readonly domainId: string; readonly epoch: number };
/** `deliveryId`: a UUID, of the row that has the event, its webhook and the attempts so far. */
export type DeliveryJob = { readonly deliveryId: string };
/** Carries nothing: what is due stands in PostgreSQL. */
export type SweepJob = Readonly<Record<never, never>>;

/** What the jobs of a queue carry. */
export type JobOf<N extends QueueName> = {
  readonly 'check-dns': DomainJob;
  readonly 'issue-certificate': DomainJob;
  readonly 'escalate-certificate': DomainJob;
  readonly 'recheck-live': SweepJob;
  readonly 'renew-certificate': SweepJob;
  readonly 'deliver-webhook': DeliveryJob;
}[N];
/** What a job of some queue carries. */
export type AnyJob = JobOf<QueueName>;

/** Returns `<domain>.<epoch>`, the id of a delivery, or `sweep`: adding a job twice is adding it once. */
export function jobId(job: AnyJob): string {
  if ('domainId' in job) return `${job.domainId}.${job.epoch}`;
  if ('deliveryId' in job) return job.deliveryId;
  return 'sweep';
}

/** A part of a regular expression, without groups of its own. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const wholeUuid = new RegExp(`^${uuidPattern}$`);

/** Whether a text may be asked for as a row's id. */
export function isUuid(text: string): boolean {
  return wholeUuid.test(text);
}

const ofRow = new RegExp(`^(${uuidPattern})(?:\\.\\d+)?$`);

/** The domain or the delivery of a job, by the job's id; null for a sweep's, and for what `jobId` has not made. */
export function rowIdIn(id: string): string | null {
  return ofRow.exec(id)?.[1] ?? null;
}

/** The domain of a job, by the job's id; null for every other. */
export function domainIdIn(id: string): string | null {
  return id.includes('.') ? rowIdIn(id) : null; // before an epoch only
}

/** Whether a queue has one job for many domains. */
export function isSweepQueue(name: QueueName): name is SweepQueue {
  return sweepQueues.some((sweep) => sweep === name);
}
