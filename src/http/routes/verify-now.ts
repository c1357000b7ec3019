/** Verifies a domain, on behalf of its project or of an operator. */
import type { Access } from '../../core/access.ts';
import type { DomainDetails } from '../../db/domains/domain-details.ts';
import type { Service } from '../../service/service.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import { forgetEpoch, runNow, wakeDomain } from './after-commit.ts';

export type Verifying = {
  readonly access: Access;
  readonly projectId: string;
  readonly hostname: string;
  readonly requestId: string;
};

/** Moves the jobs forward after the commit. 404 if the project does not have the domain. */
export async function verifyNow(
  service: Service,
  { access, projectId, hostname, requestId }: Verifying,
  view: (domain: DomainDetails) => ApiResponse,
): Promise<ApiResponse> {
  const { domains, now } = service;
  const verify = await domains.requestVerify(access, projectId, hostname, now());
  if (verify === null) return refuse('domain_not_found');
  const { domain: verified, ended } = verify;
  return {
    ...view(verified),
    afterCommit: async () => {
      if (ended !== null) await forgetEpoch(service, ended, requestId);
      await wakeDomain(service, verified, requestId);
      if (verified.status !== 'verified') return;
      const job = { domainId: verified.id, epoch: verified.epoch };
      await runNow(service, 'issue-certificate', job, requestId);
    },
  };
}
