/** Which jobs a domain in its present state must have. The API, the workers and the reconciler all ask here. */
import type { DomainStatus } from './lifecycle.ts';

/** What of a domain decides which jobs it has. */
export type Waiting = {
  readonly status: DomainStatus;
  /** Null: neither a check nor an order is planned. */
  readonly nextCheckAt: Date | null;
  /** Null: no operator is to be notified. */
  readonly escalateAt: Date | null;
};

/** A job that the domain must have in this queue. */
export type FollowUp = {
  readonly queue: 'check-dns' | 'issue-certificate' | 'escalate-certificate';
  /** In the past: at once. */
  readonly runAt: Date;
};

/** The jobs that a waiting domain needs, each with the time it is due; none for one that is live, drifted or failed. */
export function followUps({ status, nextCheckAt, escalateAt }: Waiting): readonly FollowUp[] {
  if (status === 'pending') return due('check-dns', nextCheckAt);
  if (status === 'verified') {
    return [...due('issue-certificate', nextCheckAt), ...due('escalate-certificate', escalateAt)];
  }
  return [];
}

function due(queue: FollowUp['queue'], runAt: Date | null): readonly FollowUp[] {
  return runAt === null ? [] : [{ queue, runAt }];
}
