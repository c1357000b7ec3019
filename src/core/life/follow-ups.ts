/** Which jobs a domain must have in its state. The API, the workers and the reconciler use this. */
import type { DomainStatus } from './lifecycle.ts';

/** What the jobs depend on. */
export type FollowUpState = {
  readonly status: DomainStatus;
  /** Null: no check or order is planned. */
  readonly nextCheckAt: Date | null;
  /** Null: no escalation is planned. */
  readonly escalateAt: Date | null;
};

/** A job that the domain must have. */
export type FollowUp = {
  readonly queue: 'check-dns' | 'issue-certificate' | 'escalate-certificate';
  /** In the past: at once. */
  readonly runAt: Date;
};

/**
 * Returns the jobs of a waiting domain with their due times; none if it is live, drifted or failed.
 */
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
