/** Which jobs a domain must have in its state. */
import type { DomainStatus } from './lifecycle.ts';

export type FollowUpState = {
  readonly status: DomainStatus;
  readonly nextCheckAt: Date | null;
  readonly escalateAt: Date | null;
};

export type FollowUp = {
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
