/** Which jobs a domain in its present state must have. The API, the workers and the reconciler all ask here. */
import type { DomainStatus } from './lifecycle.ts';

export type Waiting = {
  readonly status: DomainStatus;
  readonly nextCheckAt: Date | null;
  readonly escalateAt: Date | null;
};

export type FollowUp = {
  readonly queue: 'check-dns' | 'issue-certificate' | 'escalate-certificate';
  readonly runAt: Date;
};

/** The jobs that a waiting domain needs, each with the time it is due; none for a domain that waits for nothing. */
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
