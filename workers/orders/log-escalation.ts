import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { NewEscalation } from '../../src/db/issuance/escalations.ts';
import type { Service } from '../../src/service/service.ts';

/** For the operator, whose alerts can watch the log. */
export function logEscalation(
  { log }: Pick<Service, 'log'>,
  { id: domainId, hostname }: LoadedDomain,
  { cause, evidence }: NewEscalation,
): void {
  const { summary } = escalationWords(cause, evidence, 'operator');
  log.warn({ domainId, domain: hostname, cause, summary }, 'escalation opened');
}
