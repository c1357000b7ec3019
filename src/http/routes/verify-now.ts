/** Verifies a domain, on behalf of its project or of an operator. */
import type { DomainDetails } from '../../db/domains/domain-details.ts';
import type { DomainStore } from '../../db/domains/domains.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';

export type VerifyDeps = {
  readonly domains: Pick<DomainStore, 'requestVerify'>;
  /** The new verification window of a pending or failed domain. */
  readonly windowMs: number;
  /** `wake`, `orderNow` and `forget` never reject. */
  wake(domain: DomainDetails, requestId: string): Promise<void>;
  orderNow(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  /** Removes the jobs of an ended epoch. */
  forget(domain: { id: string; epoch: number }, requestId: string): Promise<void>;
  now(): Date;
};

export type Verifying = {
  readonly projectId: string;
  readonly hostname: string;
  readonly requestId: string;
};

/** Moves the jobs forward after the commit. 404 if the project does not have the domain. */
export async function verifyNow(
  deps: VerifyDeps,
  { projectId, hostname, requestId }: Verifying,
  view: (domain: DomainDetails) => ApiResponse,
): Promise<ApiResponse> {
  const { domains, now } = deps;
  const verify = await domains.requestVerify(projectId, hostname, now());
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
