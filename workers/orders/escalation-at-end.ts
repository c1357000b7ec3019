import { nextAttempt } from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { Quarantined } from '../../src/db/domains/quarantine.ts';
import { loadOpenEscalation, type NewEscalation } from '../../src/db/issuance/escalations.ts';
import type { Service } from '../../src/service/service.ts';
import { chooseFor, type OrderWork } from './choose-authority.ts';
import { evidenceOf, settledCause, toNewEscalation } from './escalation-evidence.ts';

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

/** What happens next to a renewal. */
export function renewalPlanOf(service: Service, work: OrderWork, quarantine: Quarantined | null) {
  const quarantinedUntil = quarantine?.until ?? null;
  return {
    ...chooseFor(service, work),
    hasOrder: work.order !== null,
    nextCheckAt: work.renewAt,
    quarantinedUntil,
  };
}

/** For the operator, whose alerts can watch the log. */
export function logEscalation(
  { log }: Pick<Service, 'log'>,
  { id: domainId, hostname }: LoadedDomain,
  { cause, evidence }: NewEscalation,
): void {
  const { summary } = escalationWords(cause, evidence, 'operator');
  log.warn({ domainId, domain: hostname, cause, summary }, 'escalation opened');
}
