/** A domain is verified, or verified again: the same whoever asks for it. */
import type { DomainDetails, DomainStore } from '../../db/domains/domains.ts';
import { refuse } from '../pipeline/errors.ts';
import type { ApiResponse } from '../pipeline/response.ts';

export type VerifyDeps = {
  readonly domains: Pick<DomainStore, 'requestVerify'>;
  readonly windowMs: number;
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  now(): Date;
};

export type Verifying = {
  readonly projectId: string;
  readonly hostname: string;
  readonly requestId: string;
};

/** The domain as `view` shows it; once that is committed, its jobs are brought forward. */
export async function verifyNow(
  deps: VerifyDeps,
  { projectId, hostname, requestId }: Verifying,
  view: (domain: DomainDetails) => ApiResponse,
): Promise<ApiResponse> {
  const { domains, now, windowMs } = deps;
  const verify = await domains.requestVerify(projectId, hostname, now(), windowMs);
  if (verify === null) return refuse('domain_not_found');
  const { domain: verified, ended } = verify;
  return {
    ...view(verified),
    afterCommit: async () => {
      if (ended !== null) await deps.forget(ended, requestId);
      await deps.wake(verified, requestId);
      if (verified.status === 'verified') await deps.orderNow(verified, requestId);
    },
  };
}
