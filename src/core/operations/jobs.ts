/** The queues and their job data: ids only, never state. */

import type { DomainStatus } from '../life/lifecycle.ts';
import { uuidPattern } from '../uuid.ts';

/** One job per domain and epoch in each. */
export const domainQueues = ['check-dns', 'issue-certificate', 'escalate-certificate'] as const;
/** One recurring job each: a run processes the rows that are due in PostgreSQL. */
export const sweepQueues = ['recheck-live', 'renew-certificate'] as const;
export const queueNames = [...domainQueues, ...sweepQueues, 'deliver-webhook'] as const;

export type DomainQueue = (typeof domainQueues)[number];
export type SweepQueue = (typeof sweepQueues)[number];
export type QueueName = (typeof queueNames)[number];

/** A job with an earlier epoch than the domain's changes nothing. */
export type DomainJob = { readonly domainId: string; readonly epoch: number };
export type DeliveryJob = { readonly deliveryId: string };
/** Empty: PostgreSQL has what is due. */
type SweepJob = Readonly<Record<never, never>>;

export type JobOf<N extends QueueName> = (Record<DomainQueue, DomainJob> &
  Record<SweepQueue, SweepJob> &
  Record<'deliver-webhook', DeliveryJob>)[N];
export type AnyJob = JobOf<QueueName>;

/** Deterministic, so adding a job twice has no effect. */
export function jobId(job: AnyJob): string {
  if ('domainId' in job) return `${job.domainId}.${job.epoch}`;
  if ('deliveryId' in job) return job.deliveryId;
  return 'sweep';
}

const ofRow = new RegExp(`^(${uuidPattern})(?:\\.\\d+)?$`);

/** Null for a sweep or an unknown format. */
export function rowIdIn(id: string): string | null {
  return ofRow.exec(id)?.[1] ?? null;
}

export function domainIdIn(id: string): string | null {
  return id.includes('.') ? rowIdIn(id) : null; // only before an epoch
}

export function isSweepQueue(name: QueueName): name is SweepQueue {
  return sweepQueues.some((sweep) => sweep === name);
}

// Which jobs a domain must have in its state.

export type FollowUpState = {
  readonly status: DomainStatus;
  readonly nextCheckAt: Date | null;
  readonly escalateAt: Date | null;
};

type FollowUp = {
  readonly queue: 'check-dns' | 'issue-certificate' | 'escalate-certificate';
  /** In the past: at once. */
  readonly runAt: Date;
};

export function followUps({ status, nextCheckAt, escalateAt }: FollowUpState): readonly FollowUp[] {
  if (status === 'pending') return due('check-dns', nextCheckAt);
  if (status === 'verified') {
    return [...due('issue-certificate', nextCheckAt), ...due('escalate-certificate', escalateAt)];
  }
  return [];
}

function due(queue: FollowUp['queue'], runAt: Date | null): readonly FollowUp[] {
  return runAt === null ? [] : [{ queue, runAt }];
}
