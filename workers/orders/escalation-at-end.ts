import { nextAttempt } from '../../src/core/certificates/escalation.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { loadOpenEscalation, type NewEscalation } from '../../src/db/issuance/escalations.ts';
import type { Service } from '../../src/service/service.ts';
import { evidenceOf, settledCause, toNewEscalation } from './escalation-evidence.ts';
import { logEscalation } from './log-escalation.ts';
import { renewalPlanOf } from './renewal-plan.ts';

/**
 * Saved with the expiry of a live domain's certificate: the open escalation, or a new one if no
 * worker ran for the last fifth of the lifetime. Undefined if the domain was removed. Only writes
 * to the log.
 */
export async function escalationAtEnd(
  service: Service,
  domain: LoadedDomain,
  diagnosis: Pick<Diagnosis, 'findings'>,
): Promise<NewEscalation | undefined> {
  const now = service.now();
  const work = await service.certificates.loadWork(domain.id, now);
  if (work === undefined) return undefined;
  const open = await loadOpenEscalation(service.database.prisma, domain.id);
  const { cause, evidence } = settledCause(open, evidenceOf(work, diagnosis, []));
  // The domain becomes verified, so its order resumes at once unless the CA sent Retry-After.
  const nextCheckAt = work.setback?.retryAfter ?? now;
  const plan = {
    ...renewalPlanOf(service, { ...work, forbidden: [] }, null),
    nextCheckAt,
    refusals: 0,
  };
  const escalation = toNewEscalation(cause, {
    ...evidence,
    nextAttempt: nextAttempt(plan, false, now),
  });
  if (open?.cause !== cause) logEscalation(service, domain, escalation);
  return escalation;
}
