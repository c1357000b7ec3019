/** Verifying a domain, or verifying it again: the same for its project and for an operator. */
import type { GrantedProjectId } from '../../core/accounts/access.ts';
import type { DomainDetails, DomainStore } from '../../db/domains/domains.ts';
import type { ApiResponse, AuditedAnswer } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';

/** What verifying calls; the functions are those of DomainRoutesDeps. */
export type VerifyDeps = {
  readonly domains: Pick<DomainStore, 'requestVerify'>;
  /** How long the new window of a pending or failed domain is. */
  readonly windowMs: number;
  /** Makes sure that the domain's jobs exist. None of these three rejects. */
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  /** Has its order taken up at once. */
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  /** Drops the jobs of an epoch that has ended. */
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  now(): Date;
};

/** Which domain, by its host name as stored, and for which request. */
export type Verifying = {
  readonly projectId: GrantedProjectId;
  readonly hostname: string;
  readonly requestId: string;
};

/**
 * Requests a check of the domain and answers it as `view` shows it; 404 where the project has no such domain. Once that is
 * committed, its jobs are brought forward.
 */
export async function verifyNow(
  deps: VerifyDeps,
  { projectId, hostname, requestId }: Verifying,
  view: (domain: DomainDetails) => ApiResponse,
): Promise<AuditedAnswer> {
  const { domains, now, windowMs } = deps;
  const verify = await domains.requestVerify(projectId, hostname, now(), windowMs);
  if (verify === null) return refuse('domain_not_found');
  const { domain: verified, ended } = verify;
  return {
    ...view(verified),
    about: { kind: 'domain', id: hostname, projectId },
    afterCommit: async () => {
      if (ended !== null) await deps.forget(ended, requestId);
      await deps.wake(verified, requestId);
      if (verified.status === 'verified') await deps.orderNow(verified, requestId);
    },
  };
}
